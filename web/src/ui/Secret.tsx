import { CopyButton } from "./CopyButton";
import styles from "./Secret.module.css";

/** Something that is shown once, to be copied: a key, a link that is handed over, a DNS record. */
export function Secret({ value, label }: { value: string; label: string }) {
  return (
    <div className={styles.secret}>
      <code>{value}</code>
      <CopyButton isSmall text={value} label={label} />
    </div>
  );
}
