import type { Schemas } from "../api/client";
import { reaper as texts } from "../strings/adminReaper";
import { useTexts } from "../strings/language";
import { Card } from "../ui/Card";
import { Facts } from "../ui/Facts";
import { useFormats } from "../ui/format";
import { When } from "../ui/When";
import type { Reaper } from "./queries";
import styles from "./ReaperPage.module.css";
import { StatusText } from "./StatusText";
import { useUnits } from "./units";

interface Props {
  reaper: Reaper;
  stats: Schemas["CleanupStats"];
}

export function ReaperState({ reaper, stats }: Props) {
  const words = useTexts(texts);
  const { number } = useFormats();
  const { span } = useUnits();
  const last = reaper.runs[0];
  return (
    <Card title={words.status} text={words.text} acts={<State reaper={reaper} />}>
      <div className={styles.facts}>
        <Facts
          of={{
            [words.lastRun]: last ? <When at={last.started_at} /> : words.never,
            [words.nextRun]: reaper.next_run_at ? <When at={reaper.next_run_at} /> : words.noNext,
            [words.backlog]: words.waiting(
              number(stats.expired_waiting),
              stats.expired_waiting === 1,
            ),
            [words.interval]: span(reaper.interval_seconds),
          }}
        />
        <Facts
          of={{
            [words.window]: reaper.window ? words.windowOf(reaper.window) : words.noWindow,
            [words.cleaned]: number(stats.total_cleaned),
            [words.runsSoFar]: words.runsOf(
              number(stats.successful_runs),
              number(stats.failed_runs),
            ),
            [words.average]: stats.successful_runs ? span(stats.average_cleanup_ms / 1000) : null,
          }}
        />
      </div>
    </Card>
  );
}

function State({ reaper }: { reaper: Reaper }) {
  const words = useTexts(texts);
  if (reaper.is_running) return <StatusText status="ok">{words.running}</StatusText>;
  if (reaper.requested_at) return <StatusText status="ok">{words.asked}</StatusText>;
  if (!reaper.is_enabled) return <StatusText status="warning">{words.off}</StatusText>;
  return <StatusText status="ok">{words.resting}</StatusText>;
}
