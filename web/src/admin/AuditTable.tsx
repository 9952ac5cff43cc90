import { admin } from "../strings/admin";
import { useTexts } from "../strings/language";
import { useFormats } from "../ui/format";
import table from "../ui/table.module.css";
import { When } from "../ui/When";
import styles from "./AuditTable.module.css";
import { type AuditEntry, useAllWorkspaces, useEmails } from "./queries";

export function AuditTable({ entries }: { entries: readonly AuditEntry[] }) {
  const words = useTexts(admin);
  return (
    <table className={table.table}>
      <thead>
        <tr>
          <th scope="col">{words.what}</th>
          <th scope="col">{words.who}</th>
          <th scope="col">{words.via}</th>
          <th scope="col">{words.when}</th>
        </tr>
      </thead>
      <tbody>
        {entries.map((entry) => (
          <Row key={entry.id} entry={entry} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ entry }: { entry: AuditEntry }) {
  const words = useTexts(admin);
  const acts: Record<string, unknown> = words;
  const emailOf = useEmails();
  const vias = { api: words.viaApi, cli: words.viaCli, job: words.viaJob };
  const nobody = entry.via === "job" ? words.job : words.operator;
  return (
    <tr>
      <td className={styles.what}>
        <b>{String(acts[entry.act] ?? entry.act)}</b>
        <Subject text={entry.subject} />
        <Details of={entry.details} />
      </td>
      <td className={styles.who} data-label={words.who}>
        {entry.account_id === null ? nobody : (emailOf(entry.account_id) ?? words.unknownPerson)}
      </td>
      <td className={table.dim}>{vias[entry.via]}</td>
      <td className={table.dim}>
        <When at={entry.done_at} />
      </td>
    </tr>
  );
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
