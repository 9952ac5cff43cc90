import { MOST_ITEMS } from "../api/pages";
import { common } from "../strings/common";
import { useTexts } from "../strings/language";
import styles from "./CutNote.module.css";
import { useFormats } from "./format";

/** Below a list that may have ended early: there are more than a page loads. */
export function CutNote({ of }: { of: readonly unknown[] }) {
  const text = useCutText()(of);
  return text && <p className={styles.note}>{text}</p>;
}

/** The same as a text: beside a field, or as the last choice of a select. */
export function useCutText(): (of: readonly unknown[]) => string | null {
  const words = useTexts(common);
  const { number } = useFormats();
  return (of) => (of.length < MOST_ITEMS ? null : words.firstOnly(number(MOST_ITEMS)));
}

export function useCutChoice(): (of: readonly unknown[]) => Choice[] {
  const textOf = useCutText();
  return (of) => {
    const label = textOf(of);
    return label === null ? [] : [{ value: "cut", label, disabled: true }];
  };
}

interface Choice {
  value: string;
  label: string;
  disabled?: boolean;
}
