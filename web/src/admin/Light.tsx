import type { ReactNode } from "react";
import { Icon, type IconName } from "../ui/Icon";
import styles from "./Light.module.css";

export type LightName = "good" | "wary" | "bad";

const SHAPES: Record<LightName, IconName> = { good: "done", wary: "warn", bad: "stop" };

/** Colour, shape and word; `children` is the word. */
export function Light({ light, children }: { light: LightName; children: ReactNode }) {
  return (
    <span className={styles.light} data-light={light}>
      <Icon name={SHAPES[light]} size={16} />
      {children}
    </span>
  );
}
