import type { ReactNode } from "react";
import styles from "./Badge.module.css";
import { Icon, type IconName } from "./Icon";

interface Props {
  tone: "good" | "warning" | "bad" | "dim";
  shape: IconName | "dot" | "ring";
  title?: string;
  /** The word. */
  children: ReactNode;
}

/** Colour, word and shape: no one of them alone says it. */
export function Badge({ tone, shape, title, children }: Props) {
  return (
    <span className={styles.badge} data-tone={tone} title={title}>
      {shape === "dot" || shape === "ring" ? (
        <span className={styles[shape]} />
      ) : (
        <Icon name={shape} size={14} />
      )}
      {children}
    </span>
  );
}
