import type { Schemas } from "../api/client";
import { common } from "../strings/common";
import { useTexts } from "../strings/language";
import { Icon, type IconName } from "./Icon";
import styles from "./StatusBadge.module.css";

export type Status = Schemas["LinkRead"]["status"];

const SHAPES: Record<Status, IconName | "dot"> = {
  ACTIVE: "dot",
  EXPIRED: "clock",
  DELETED: "bin",
  PAUSED: "pause",
  EXHAUSTED: "done",
  BANNED: "stop",
};

/** Colour, word and shape: no one of them alone says it. */
export function StatusBadge({ status }: { status: Status }) {
  const words = useTexts(common);
  const shape = SHAPES[status];
  return (
    <span className={styles.badge} data-status={status}>
      {shape === "dot" ? <span className={styles.dot} /> : <Icon name={shape} size={14} />}
      {words[status]}
    </span>
  );
}
