import { runs } from "../strings/adminRuns";
import { useTexts } from "../strings/language";
import { StatusText } from "./StatusText";

/** How a run of a job ended; null: it has not. */
export function RunOutcome({ outcome }: { outcome: string | null }) {
  const words = useTexts(runs);
  if (outcome === "failed") return <StatusText status="error">{words.failed}</StatusText>;
  if (outcome === "skipped") return <StatusText status="warning">{words.skipped}</StatusText>;
  return <StatusText status="ok">{outcome ? words.succeeded : words.running}</StatusText>;
}
