import { useTexts } from "../strings/language";
import { stats as texts } from "../strings/stats";
import { Badge } from "../ui/Badge";
import type { LiveState } from "./live";

/** Whether numbers grow by themselves right now. */
export function LiveDot({ state }: { state: LiveState }) {
  const words = useTexts(texts);
  const isLive = state === "live";
  return (
    <Badge
      tone={isLive ? "good" : "dim"}
      shape={isLive ? "dot" : "ring"}
      title={words[`${state}Hint`]}
    >
      {words[state]}
    </Badge>
  );
}
