import type { ReactNode } from "react";
import styles from "./PageHead.module.css";
import { useTitle } from "./title";

/** A page's heading, and what can be done on it. Sets the tab's title, too. */
export function PageHead({ title, children }: { title: string; children?: ReactNode }) {
  useTitle(title);
  return (
    <div className={styles.head}>
      <h1>{title}</h1>
      {children && <div className={styles.acts}>{children}</div>}
    </div>
  );
}
