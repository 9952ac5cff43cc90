import { Button } from "@mantine/core";
import { useState } from "react";
import { useTexts } from "../../strings/language";
import { link as texts } from "../../strings/link";
import { Card } from "../../ui/Card";
import { CutNote } from "../../ui/CutNote";
import { useFormats } from "../../ui/format";
import { FormProblem } from "../../ui/states";
import { When } from "../../ui/When";
import styles from "./History.module.css";
import { type HistoryEntry, useHistory, usePeople } from "./queries";

const FIRST = 8;

/** Who changed what, and when; the newest first. */
export function History() {
  const words = useTexts(texts);
  const history = useHistory();
  const [isWhole, setWhole] = useState(false);
  const entries = history.data ?? [];
  const shown = isWhole ? entries : entries.slice(0, FIRST);
  if (history.data?.length === 0) return <Card title={words.history} text={words.noHistory} />;
  return (
    <Card title={words.history}>
      {history.isError && <FormProblem error={history.error} />}
      {shown.length > 0 && (
        <ol className={styles.entries}>
          {shown.map((entry) => (
            <Row key={entry.version} entry={entry} />
          ))}
        </ol>
      )}
      {isWhole && <CutNote of={entries} />}
      {shown.length < entries.length && (
        <Button variant="default" mt={12} onClick={() => setWhole(true)}>
          {words.wholeHistory(entries.length)}
        </Button>
      )}
    </Card>
  );
}

function Row({ entry }: { entry: HistoryEntry }) {
  const words = useTexts(texts);
  const people = usePeople();
  const acts: Record<string, string> = {
    edit: words.didEdit,
    delete: words.didDelete,
    restore: words.didRestore,
    sweep: words.didSweep,
    revive: words.didRevive,
    claim: words.didClaim,
    tags: words.didTags,
  };
  const name = entry.account_id === null ? words.operator : people(entry.account_id);
  const who = name === null ? words.you : (name ?? words.somebody);
  return (
    <li>
      <p>
        <b>{entry.action === "sweep" ? "kurz" : who}</b> {acts[entry.action] ?? entry.action}
        <span className={styles.when}>
          <When at={entry.changed_at} />
        </span>
      </p>
      {entry.action !== "sweep" && <Changes changes={entry.changes} />}
    </li>
  );
}

function Changes({ changes }: { changes: HistoryEntry["changes"] }) {
  const words = useTexts(texts);
  const fields: Record<string, string> = {
    original_url: words.destination,
    short_code: words.code,
    title: words.title,
    tags: words.tags,
    notes: words.notes,
    expires_at: words.expires,
    starts_at: words.start,
    redirect_status: words.redirect,
    forward_query: words.query,
    max_clicks: words.limit,
    status: words.status,
    link_type: words.type,
    strategy: words.strategy,
    owner_id: words.owner,
    deleted_at: words.trash,
    workspace_id: words.workspace,
  };
  const known = Object.entries(changes).filter(([field]) => field in fields);
  if (known.length === 0) return null;
  return (
    <dl className={styles.changes}>
      {known.map(([field, [before, after]]) => (
        <div key={field}>
          <dt>{fields[field]}</dt>
          <dd>
            <Value of={before} /> <span className={styles.arrow}>→</span> <Value of={after} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

const STATUSES = ["ACTIVE", "PAUSED", "DELETED", "BANNED"] as const;
const INSTANT = /^\d{4}-\d{2}-\d{2}T/;

function Value({ of }: { of: unknown }) {
  const words = useTexts(texts);
  const { exact } = useFormats();
  if (of === null || of === undefined || of === "") return <i>{words.nothing}</i>;
  if (typeof of === "boolean") return of ? words.yes : words.no;
  const status = STATUSES.find((it) => it === of);
  if (status) return words[status];
  if (Array.isArray(of)) return of.length === 0 ? <i>{words.nothing}</i> : of.join(", ");
  if (typeof of === "string" && INSTANT.test(of)) return exact(new Date(of));
  return <span title={String(of)}>{String(of)}</span>;
}
