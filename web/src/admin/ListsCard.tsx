import { health } from "../strings/adminHealth";
import { system as texts } from "../strings/adminSystem";
import { useTexts } from "../strings/language";
import { Card } from "../ui/Card";
import { type Column, DataTable } from "../ui/DataTable";
import { useFormats } from "../ui/format";
import { When } from "../ui/When";
import type { System } from "./queries";
import { StatusText } from "./StatusText";
import styles from "./SystemPage.module.css";

type Lists = System["lists"];
type File = Lists["files"][number];

/** The files that destinations are screened by. */
export function ListsCard({ lists }: { lists: Lists }) {
  const words = useTexts(texts);
  const { lists: title } = useTexts(health);
  const { number } = useFormats();
  if (!lists.files.length) return <Card title={title} text={words.noLists} />;
  const columns: Column<File>[] = [
    {
      head: words.list,
      cell: (file) => (
        <>
          <span className={`mono ${styles.path}`}>{file.path}</span>
          {file.bad_lines > 0 && (
            <div className={styles.reason}>{words.badLines(number(file.bad_lines))}</div>
          )}
        </>
      ),
    },
    {
      head: words.status,
      cell: ({ problem }) => (
        <StatusText status={problem ? "error" : "ok"}>{problem ?? words.inUse}</StatusText>
      ),
    },
    {
      head: words.role,
      kind: "dim",
      cell: (file) => (file.role === "allow" ? words.allow : words.block),
    },
    { head: words.rules, kind: "number", label: true, cell: (file) => number(file.rules) },
    {
      head: words.changed,
      kind: "dim",
      label: (file) => (file.changed_at ? words.changed : undefined),
      cell: (file) => file.changed_at && <When at={file.changed_at} />,
    },
  ];
  return (
    <Card title={title} text={words.listsText(number(lists.hosts))} isFull>
      <DataTable columns={columns} rows={lists.files} keyOf={(file) => file.path} />
    </Card>
  );
}
