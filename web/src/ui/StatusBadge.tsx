import type { ComponentProps } from "react";
import type { Schemas } from "../api/client";
import { common } from "../strings/common";
import { useTexts } from "../strings/language";
import { Badge } from "./Badge";

export type Status = Schemas["LinkRead"]["status"];

const LOOKS: Record<Status, Pick<ComponentProps<typeof Badge>, "tone" | "shape">> = {
  ACTIVE: { tone: "good", shape: "dot" },
  EXPIRED: { tone: "warning", shape: "clock" },
  DELETED: { tone: "dim", shape: "bin" },
  PAUSED: { tone: "dim", shape: "pause" },
  EXHAUSTED: { tone: "warning", shape: "done" },
  BANNED: { tone: "bad", shape: "stop" },
};

export function StatusBadge({ status }: { status: Status }) {
  const words = useTexts(common);
  return <Badge {...LOOKS[status]}>{words[status]}</Badge>;
}
