import { admin } from "../strings/admin";
import { useTexts } from "../strings/language";
import { type Column, DataTable } from "../ui/DataTable";
import { useFormats } from "../ui/format";
import { When } from "../ui/When";
import styles from "./AuditTable.module.css";
import { type AuditEntry, useAllWorkspaces, useEmails } from "./queries";

export function AuditTable({ entries }: { entries: readonly AuditEntry[] }) {
  const words = useTexts(admin);
  const acts: Record<string, unknown> = words;
  const emailOf = useEmails();
  const vias = { api: words.viaApi, cli: words.viaCli, job: words.viaJob };
  const nameOf = ({ account_id, via }: AuditEntry) => {
    if (account_id === null) return via === "job" ? words.job : words.operator;
    return emailOf(account_id) ?? words.unknownPerson;
  };
  const columns: Column<AuditEntry>[] = [
    {
      head: words.what,
      className: styles.what,
      cell: (entry) => (
        <>
          <b>{String(acts[entry.action] ?? entry.action)}</b>
          <Subject text={entry.subject} />
          <Details of={entry.details} />
        </>
      ),
    },
    { head: words.who, label: true, className: styles.who, cell: nameOf },
    { head: words.via, kind: "dim", cell: (entry) => vias[entry.via] },
    { head: words.when, kind: "dim", cell: (entry) => <When at={entry.done_at} /> },
  ];
  return <DataTable columns={columns} rows={entries} keyOf={(entry) => entry.id} />;
}

/** "account 12" is whom people know by an address. */
function Subject({ text }: { text: string | null }) {
  const words = useTexts(admin);
  const nouns: Record<string, unknown> = words;
  const emailOf = useEmails();
  const workspaces = useAllWorkspaces();
  if (!text) return null;
  const noun = text.slice(0, text.indexOf(" "));
  const name = text.slice(noun.length + 1);
  const known =
    noun === "account"
      ? emailOf(Number(name))
      : noun === "workspace"
        ? workspaces.data?.find(({ id }) => id === Number(name))?.name
        : null;
  if (known) return <span className={styles.subject}>{known}</span>;
  return (
    <span className={styles.subject}>
      {String(nouns[noun] ?? noun)} <span className="mono">{name}</span>
    </span>
  );
}

function Details({ of }: { of: AuditEntry["details"] }) {
  const words = useTexts(admin);
  const { number } = useFormats();
  const names: Record<string, unknown> = { ...words, reason: words.detailReason };
  const shown = (value: unknown): string => {
    if (typeof value === "boolean") return value ? words.yes : words.no;
    if (typeof value === "number") return number(value);
    if (value === null || value === "") return words.none;
    return Array.isArray(value) ? value.map(shown).join(", ") : String(value);
  };
  const known = Object.entries(of);
  if (!known.length) return null;
  const text = known.map(([name, value]) => `${String(names[name] ?? name)}: ${shown(value)}`);
  return <div className={styles.details}>{text.join(" · ")}</div>;
}
