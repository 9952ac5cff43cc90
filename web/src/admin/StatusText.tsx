import type { ReactNode } from "react";
import type { Schemas } from "../api/client";
import { Badge } from "../ui/Badge";

export type HealthStatus = Schemas["HealthStatus"];

const LOOKS = {
  ok: { tone: "good", shape: "done" },
  warning: { tone: "warning", shape: "warn" },
  error: { tone: "bad", shape: "stop" },
} as const;

/** `children` is the word. */
export function StatusText({ status, children }: { status: HealthStatus; children: ReactNode }) {
  return <Badge {...LOOKS[status]}>{children}</Badge>;
}
