import type { ReactNode } from "react";
import styles from "./Facts.module.css";

interface Props {
  /** By their names; what is null is left out. */
  of: Readonly<Record<string, ReactNode>>;
  /** Values at the other edge, in a column of their own, or between lines. */
  look?: "edges" | "columns" | "lines";
}

/** What is known of a thing. */
export function Facts({ of, look = "edges" }: Props) {
  return (
    <dl className={`${styles.facts} ${styles[look]}`}>
      {Object.entries(of).map(([name, value]) =>
        value === null ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}
