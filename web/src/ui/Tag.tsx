import type { ReactNode } from "react";
import styles from "./Tag.module.css";

/** A word about what stands before it. */
export function Tag({ children }: { children: ReactNode }) {
  return <span className={styles.tag}>{children}</span>;
}
