import { useEffect, useState } from "react";
import { useTexts } from "../strings/language";
import { pager as texts } from "../strings/pager";
import { useFormats } from "./format";
import { IconButton } from "./IconButton";
import styles from "./Pager.module.css";

/** `T` is what the server says of where a page begins. */
export interface Pages<T = string> {
  /** Of the page in sight; null: the first. */
  cursor: T | null;
  /** How many are before it. */
  number: number;
  next(cursor: T): void;
  back(): void;
}

/** Turns pages. Begins at the first whenever `where` changes; whoever comes back to this entry of the
 * browser's history, or loads it again, finds the page they left. */
export function usePages<T = string>(where: string): Pages<T> {
  const [turned, setTurned] = useState<{ where: string; cursors: readonly T[] }>();
  const cursors = turned?.where === where ? turned.cursors : kept<T>(where);
  const turn = (to: readonly T[]) => {
    setTurned({ where, cursors: to });
    const pages = { ...history.state?.pages, [where]: to };
    history.replaceState({ ...history.state, pages }, "");
  };
  return {
    cursor: cursors.at(-1) ?? null,
    number: cursors.length,
    next: (cursor) => turn([...cursors, cursor]),
    back: () => turn(cursors.slice(0, -1)),
  };
}

function kept<T>(where: string): readonly T[] {
  return history.state?.pages?.[where] ?? [];
}

/** Goes a page back when the last one has become empty. True: it is on its way there. */
export function useWayBack<T>({ number, back }: Pages<T>, isEmpty: boolean): boolean {
  const isGone = isEmpty && number > 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `back` is another with every drawing
  useEffect(() => (isGone ? back() : undefined), [isGone, number]);
  return isGone;
}

interface Props<T> {
  pages: Pages<T>;
  /** Where the next one begins; null: this is the last. */
  next: T | null;
  /** Another page than this one is in sight yet: its `next` is not this one's. */
  isBusy: boolean;
  /** Which part this is. Without it the page's number, and nothing at all where there is one page. */
  text?: string;
}

/** Forth, and back the same way. */
export function Pager<T>({ pages, next, isBusy, text }: Props<T>) {
  const words = useTexts(texts);
  const { number } = useFormats();
  if (text === undefined && pages.number === 0 && next === null) return null;
  return (
    <div className={styles.pager}>
      <span>{text ?? words.page(number(pages.number + 1))}</span>
      <IconButton
        icon="back"
        label={words.back}
        isDisabled={pages.number === 0}
        onClick={pages.back}
      />
      <IconButton
        icon="next"
        label={words.next}
        isDisabled={next === null || isBusy}
        onClick={() => next !== null && pages.next(next)}
      />
    </div>
  );
}
