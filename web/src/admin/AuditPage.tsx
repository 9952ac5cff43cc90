import { Button, NativeSelect } from "@mantine/core";
import { useSearchParams } from "wouter";
import { admin } from "../strings/admin";
import { useTexts } from "../strings/language";
import { Card } from "../ui/Card";
import { useCutChoice } from "../ui/CutNote";
import { Pager, usePages, useWayBack } from "../ui/Pager";
import { changed } from "../ui/query";
import { Empty, Failed, Loading } from "../ui/states";
import { AdminFrame } from "./AdminFrame";
import { AuditTable } from "./AuditTable";
import styles from "./admin.module.css";
import { ACTS } from "./auditActs";
import { type AuditFilter, useAccounts, useAudit } from "./queries";

const VIAS = ["api", "cli", "job"] as const;

/** Who did what. The filter stands in the address. */
export default function AuditPage() {
  const [query, setQuery] = useSearchParams();
  const account = Number(query.get("account"));
  const filter: AuditFilter = {
    action: ACTS.find((action) => action === query.get("action")) ?? null,
    account: Number.isSafeInteger(account) && account > 0 ? account : null,
    via: VIAS.find((via) => via === query.get("via")) ?? null,
  };
  const change = (part: keyof AuditFilter, value: string) =>
    setQuery((before) => changed(before, { [part]: value }));
  return (
    <AdminFrame page="audit">
      <Filter filter={filter} change={change} />
      <Entries key={query.toString()} filter={filter} clear={() => setQuery({})} />
    </AdminFrame>
  );
}

function Filter(props: {
  filter: AuditFilter;
  change: (part: keyof AuditFilter, value: string) => void;
}) {
  const words = useTexts(admin);
  const accounts = useAccounts();
  const cutOf = useCutChoice();
  const { filter, change } = props;
  const vias = { api: words.viaApi, cli: words.viaCli, job: words.viaJob };
  return (
    <search className={styles.filter}>
      <NativeSelect
        aria-label={words.what}
        value={filter.action ?? ""}
        onChange={(event) => change("action", event.currentTarget.value)}
        data={[
          { value: "", label: words.anyAct },
          ...ACTS.map((value) => ({ value, label: words[value] })),
        ]}
      />
      <NativeSelect
        aria-label={words.who}
        value={filter.account?.toString() ?? ""}
        onChange={(event) => change("account", event.currentTarget.value)}
        data={[
          { value: "", label: words.anybody },
          ...(accounts.data ?? [])
            .filter(({ is_admin, id }) => is_admin || id === filter.account)
            .map(({ id, email }) => ({ value: String(id), label: email })),
          ...cutOf(accounts.data ?? []),
        ]}
      />
      <NativeSelect
        aria-label={words.via}
        value={filter.via ?? ""}
        onChange={(event) => change("via", event.currentTarget.value)}
        data={[
          { value: "", label: words.anyWay },
          ...VIAS.map((value) => ({ value, label: vias[value] })),
        ]}
      />
    </search>
  );
}

function Entries({ filter, clear }: { filter: AuditFilter; clear: () => void }) {
  const words = useTexts(admin);
  const pages = usePages<number>(JSON.stringify(filter));
  const audit = useAudit(filter, pages.cursor);
  const isGone = useWayBack(pages, audit.data?.entries.length === 0 && !audit.isPlaceholderData);
  if (audit.isLoadingError) return <Failed error={audit.error} retry={audit.refetch} />;
  if (audit.isPending || isGone) return <Loading />;
  if (!audit.data.entries.length) {
    if (!filter.action && !filter.account && !filter.via) {
      return <Empty icon="clock" title={words.noEntries} text={words.noEntriesText} />;
    }
    return (
      <Empty icon="search" title={words.noMatch} text={words.noMatchText}>
        <Button variant="default" onClick={clear}>
          {words.clear}
        </Button>
      </Empty>
    );
  }
  return (
    <Card title={words.audit} text={words.auditText} isFull>
      <AuditTable entries={audit.data.entries} />
      <Pager pages={pages} next={audit.data.next_before} isBusy={audit.isPlaceholderData} />
    </Card>
  );
}
