import { useBoxes } from "../links/list/LinkTable";
import styles from "../links/list/LinkTable.module.css";
import { Destination } from "../links/list/RowName";
import type { Selection } from "../links/list/selection";
import type { Link } from "../links/queries";
import { useTexts } from "../strings/language";
import { links as linkTexts } from "../strings/links";
import { trash } from "../strings/trash";
import { type Column, DataTable } from "../ui/DataTable";
import { useFormats, useNow } from "../ui/format";
import { IconButton } from "../ui/IconButton";
import { StatusBadge } from "../ui/StatusBadge";
import { When } from "../ui/When";

interface Props {
  links: readonly Link[];
  /** null: somebody who may look, only. */
  selection: Selection | null;
  onRestore: (link: Link) => void;
  onPurge: (link: Link) => void;
}

export function TrashTable({ links, selection, onRestore, onPurge }: Props) {
  const words = useTexts(trash);
  const linkWords = useTexts(linkTexts);
  const { number } = useFormats();
  const columns: Column<Link>[] = [
    {
      head: linkWords.link,
      className: styles.link,
      cell: (link) => (
        <>
          <div className={styles.code}>
            <span className="mono">/{link.short_code}</span>
          </div>
          <Destination link={link} />
        </>
      ),
    },
    {
      head: linkWords.status,
      className: styles.status,
      cell: (link) => <StatusBadge status={link.swept_at ? "EXPIRED" : "DELETED"} />,
    },
    {
      head: linkWords.clicks,
      kind: "number",
      label: true,
      className: styles.number,
      cell: (link) => number(link.redirect_count),
    },
    {
      head: words.DELETED,
      className: styles.made,
      cell: (link) => <When at={link.deleted_at ?? link.updated_at} />,
    },
    {
      head: words.purged,
      label: (link) => (link.purged_at === null ? undefined : words.purged),
      className: styles.when,
      cell: (link) => <Purged at={link.purged_at} />,
    },
  ];
  if (selection) {
    columns.push({
      head: linkWords.acts,
      kind: "acts",
      className: styles.acts,
      cell: (link) => (
        <div>
          <IconButton
            icon="restore"
            label={words.restoreOf(link.short_code)}
            onClick={() => onRestore(link)}
          />
          <IconButton
            icon="bin"
            label={words.purgeOf(link.short_code)}
            onClick={() => onPurge(link)}
          />
        </div>
      ),
    });
  }
  return (
    <DataTable
      className={styles.links}
      columns={columns}
      rows={links}
      keyOf={(link) => link.id}
      boxes={useBoxes(selection)}
    />
  );
}

function Purged({ at }: { at: string | null }) {
  const words = useTexts(trash);
  const now = useNow();
  if (at === null) return words.never;
  return Date.parse(at) < now ? words.soon : <When at={at} />;
}
