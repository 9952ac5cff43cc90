import { PageBox } from "../links/LinkTable";
import styles from "../links/LinkTable.module.css";
import type { Link } from "../links/queries";
import { RowBox } from "../links/Row";
import type { Selection } from "../links/selection";
import { useTexts } from "../strings/language";
import { links as linkTexts } from "../strings/links";
import { trash } from "../strings/trash";
import { useFormats, useNow } from "../ui/format";
import { IconButton } from "../ui/IconButton";
import { StatusBadge } from "../ui/StatusBadge";
import { bare } from "../ui/urls";
import { When } from "../ui/When";

interface Acts {
  onRestore: (link: Link) => void;
  onPurge: (link: Link) => void;
}

interface Props extends Acts {
  links: readonly Link[];
  /** null: somebody who may look, only. */
  selection: Selection | null;
}

export function TrashTable({ links, selection, ...acts }: Props) {
  const words = useTexts(trash);
  const linkWords = useTexts(linkTexts);
  return (
    <table className={styles.table}>
      <thead>
        <tr>
          {selection && (
            <th scope="col" className={styles.pick}>
              <PageBox selection={selection} />
            </th>
          )}
          <th scope="col">{linkWords.link}</th>
          <th scope="col" className={styles.status}>
            {linkWords.status}
          </th>
          <th scope="col" className={styles.number}>
            {linkWords.clicks}
          </th>
          <th scope="col" className={styles.made}>
            {words.deleted}
          </th>
          <th scope="col" className={styles.when}>
            {words.purged}
          </th>
          {selection && (
            <th scope="col" className={styles.acts}>
              <span className="unseen">{linkWords.acts}</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {links.map((link) => (
          <Row
            key={link.id}
            link={link}
            isSelected={selection?.has(link.id) ?? false}
            onSelect={selection?.toggle ?? null}
            {...acts}
          />
        ))}
      </tbody>
    </table>
  );
}

interface RowProps extends Acts {
  link: Link;
  isSelected: boolean;
  onSelect: Selection["toggle"] | null;
}

function Row({ link, isSelected, onSelect, onRestore, onPurge }: RowProps) {
  const words = useTexts(trash);
  const linkWords = useTexts(linkTexts);
  const { number } = useFormats();
  return (
    <tr data-selected={isSelected || undefined}>
      {onSelect && (
        <td className={styles.pick}>
          <RowBox link={link} isSelected={isSelected} onSelect={onSelect} />
        </td>
      )}
      <td className={styles.link}>
        <div className={styles.code}>
          <span className="mono">/{link.short_code}</span>
        </div>
        <div className={styles.destination} title={link.original_url}>
          {link.title && <b>{link.title}</b>}
          {bare(link.original_url).slice(0, 300)}
        </div>
      </td>
      <td className={styles.status}>
        <StatusBadge status={link.swept_at ? "EXPIRED" : "DELETED"} />
      </td>
      <td className={styles.number} data-label={linkWords.clicks}>
        {number(link.redirect_count)}
      </td>
      <td className={styles.made}>
        <When at={link.deleted_at ?? link.updated_at} />
      </td>
      <td
        className={styles.when}
        data-label={words.purged}
        data-none={link.purged_at === null || undefined}
      >
        <Purged at={link.purged_at} />
      </td>
      {onSelect && (
        <td className={styles.acts}>
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
        </td>
      )}
    </tr>
  );
}

function Purged({ at }: { at: string | null }) {
  const words = useTexts(trash);
  const now = useNow();
  if (at === null) return words.never;
  return Date.parse(at) < now ? words.soon : <When at={at} />;
}
