import { useTexts } from "../strings/language";
import { stats as texts } from "../strings/stats";
import styles from "./LiveDot.module.css";
import type { LiveState } from "./live";

/** Whether numbers grow by themselves right now. */
export function LiveDot({ state }: { state: LiveState }) {
  const words = useTexts(texts);
  return (
    <span className={styles.live} data-state={state} title={words[`${state}Hint`]}>
      {words[state]}
    </span>
  );
}
