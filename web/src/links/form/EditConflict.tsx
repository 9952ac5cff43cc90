import { Button } from "@mantine/core";
import { editing as texts } from "../../strings/editing";
import { useTexts } from "../../strings/language";
import { useFormats } from "../../ui/format";
import { useNoTurning } from "../../ui/stay";
import type { Link } from "../queries";
import { changedBetween, type Fields, fieldsOf, type Name, touched } from "./editing";
import styles from "./LinkForm.module.css";
import { LinkFormModal } from "./LinkFormModal";

interface Props {
  /** What both began with. */
  base: Link;
  theirs: Link;
  /** Yours, as typed. */
  fields: Fields;
  takeTheirs: () => void;
  keepMine: () => void;
  onClose: () => void;
}

/** What somebody else changed meanwhile, field by field. Nothing is decided by closing it. */
export function EditConflict({ base, theirs, fields, ...acts }: Props) {
  const words = useTexts(texts);
  const shown = useShown();
  const mine = touched(fieldsOf(base), fields);
  useNoTurning(true, acts.onClose);
  return (
    <LinkFormModal onClose={acts.onClose} title={words.conflict} zIndex={210}>
      <div className={styles.form}>
        <div className={styles.fields}>
          <p className={styles.note}>{words.conflictText}</p>
          <dl className={styles.conflict}>
            {changedBetween(base, theirs).map((name) => (
              <div key={name}>
                <dt>{words[name]}</dt>
                <dd>
                  <span>{words.theirs}</span>
                  <Value text={shown(name, theirs, fieldsOf(theirs))} />
                </dd>
                <dd>
                  <span>{words.yours}</span>
                  {mine.includes(name) ? (
                    <Value text={shown(name, base, fields)} />
                  ) : (
                    <i>{words.untouched}</i>
                  )}
                </dd>
              </div>
            ))}
          </dl>
          <p className={styles.note}>{words.takeSays}</p>
        </div>
        <div className={styles.acts}>
          <Button variant="default" data-autofocus onClick={acts.takeTheirs}>
            {words.takeTheirs}
          </Button>
          <Button onClick={acts.keepMine}>{words.keepMine}</Button>
        </div>
      </div>
    </LinkFormModal>
  );
}

/** The rest of what is very long is there on hover. */
function Value({ text }: { text: string }) {
  return <b title={text}>{text}</b>;
}

/** A field's value as text; `link` is the state that was typed over. */
function useShown(): (name: Name, link: Link, fields: Fields) => string {
  const words = useTexts(texts);
  const formats = useFormats();
  const instant = (text: string) => formats.exact(new Date(text));
  const expiryOf = (link: Link, { expiry }: Fields) => {
    if (expiry.kind === "in")
      return instant(new Date(Date.now() + expiry.seconds * 1000).toISOString());
    if (expiry.kind === "at") return instant(expiry.at);
    return expiry.kind === "never" || link.expires_at === null
      ? words.never
      : instant(link.expires_at);
  };
  return (name, link, fields) => {
    if (name === "expiry") return expiryOf(link, fields);
    const value = fields[name];
    if (typeof value === "boolean") return value ? words.yes : words.no;
    if (Array.isArray(value)) return value.join(", ") || words.nothing;
    if (name === "starts_at" && value) return instant(String(value));
    return String(value) || words.nothing;
  };
}
