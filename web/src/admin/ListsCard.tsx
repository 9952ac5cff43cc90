import { system as texts } from "../strings/adminSystem";
import { useTexts } from "../strings/language";
import { Card } from "../ui/Card";
import { useFormats } from "../ui/format";
import table from "../ui/table.module.css";
import { When } from "../ui/When";
import type { System } from "./queries";
import { StatusText } from "./StatusText";
import styles from "./SystemPage.module.css";

type Lists = System["lists"];

/** The files that destinations are screened by. */
export function ListsCard({ lists }: { lists: Lists }) {
  const words = useTexts(texts);
  const { number } = useFormats();
  if (!lists.files.length) return <Card title={words.lists} text={words.noLists} />;
  return (
    <Card title={words.lists} text={words.listsText(number(lists.hosts))} isFull>
      <table className={table.table}>
        <thead>
          <tr>
            <th scope="col">{words.list}</th>
            <th scope="col">{words.state}</th>
            <th scope="col">{words.role}</th>
            <th scope="col" className={table.number}>
              {words.rules}
            </th>
            <th scope="col">{words.changed}</th>
          </tr>
        </thead>
        <tbody>
          {lists.files.map((file) => (
            <ListRow key={file.path} file={file} />
          ))}
        </tbody>
      </table>
    </Card>
  );
}

function ListRow({ file }: { file: Lists["files"][number] }) {
  const words = useTexts(texts);
  const { number } = useFormats();
  return (
    <tr>
      <td>
        <span className={`mono ${styles.path}`}>{file.path}</span>
        {file.bad_lines > 0 && (
          <div className={styles.reason}>{words.badLines(number(file.bad_lines))}</div>
        )}
      </td>
      <td>
        <StatusText status={file.problem ? "error" : "ok"}>
          {file.problem ?? words.inUse}
        </StatusText>
      </td>
      <td className={table.dim}>{file.role === "allow" ? words.allow : words.block}</td>
      <td className={table.number} data-label={words.rules}>
        {number(file.rules)}
      </td>
      <td className={table.dim} data-label={words.changed}>
        {file.changed_at && <When at={file.changed_at} />}
      </td>
    </tr>
  );
}
