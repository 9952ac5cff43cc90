import type { ReactNode } from "react";
import styles from "./Card.module.css";

interface Props {
  title: string;
  /** One sentence about it. */
  text?: ReactNode;
  /** Buttons, on the right of the title. */
  acts?: ReactNode;
  /** Reaches from edge to edge: a table, a list. */
  isFull?: boolean;
  children?: ReactNode;
}

/** A part of a page with a heading of its own. */
export function Card({ title, text, acts, isFull = false, children }: Props) {
  return (
    <section className={`panel ${styles.card}`}>
      <div className={styles.head}>
        <div>
          <h2>{title}</h2>
          {text && <p>{text}</p>}
        </div>
        {acts && <div className={styles.acts}>{acts}</div>}
      </div>
      {children && <div className={isFull ? styles.full : styles.body}>{children}</div>}
    </section>
  );
}
