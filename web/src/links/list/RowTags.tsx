import { useTexts } from "../../strings/language";
import { links as texts } from "../../strings/links";
import styles from "./LinkTable.module.css";

const SHOWN = 2;

/** A link's first tags; a click finds all links with one. */
export function RowTags({
  tags,
  onTag,
}: {
  tags: readonly string[];
  onTag: (tag: string) => void;
}) {
  const words = useTexts(texts);
  if (tags.length === 0) return null;
  const hidden = tags.slice(SHOWN);
  return (
    <div className={styles.tags}>
      {tags.slice(0, SHOWN).map((tag) => (
        <button
          key={tag}
          type="button"
          className={`truncate ${styles.tag}`}
          title={words.byTag(tag)}
          onClick={() => onTag(tag)}
        >
          {tag}
        </button>
      ))}
      {hidden.length > 0 && (
        <span className={`truncate ${styles.hidden}`} title={hidden.join(", ")}>
          {words.moreTags(hidden.length)}
        </span>
      )}
    </div>
  );
}
