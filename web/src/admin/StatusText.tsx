import type { ReactNode } from "react";
import type { Schemas } from "../api/client";
import { Icon, type IconName } from "../ui/Icon";
import styles from "./StatusText.module.css";

export type HealthStatus = Schemas["HealthStatus"];

const SHAPES: Record<HealthStatus, IconName> = { ok: "done", warning: "warn", error: "stop" };

/** Colour, shape and word; `children` is the word. */
export function StatusText({ status, children }: { status: HealthStatus; children: ReactNode }) {
  return (
    <span className={styles.status} data-status={status}>
      <Icon name={SHAPES[status]} size={16} />
      {children}
    </span>
  );
}
