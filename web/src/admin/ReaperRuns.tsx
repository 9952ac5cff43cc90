import { reaper as texts } from "../strings/adminReaper";
import { useTexts } from "../strings/language";
import { Card } from "../ui/Card";
import { useFormats } from "../ui/format";
import table from "../ui/table.module.css";
import { When } from "../ui/When";
import type { Run } from "./queries";
import styles from "./ReaperPage.module.css";
import { StatusText } from "./StatusText";
import { useUnits } from "./units";

const COUNTS = ["marked", "trashed", "archived", "purged"] as const;

export function ReaperRuns({ runs }: { runs: readonly Run[] }) {
  const words = useTexts(texts);
  if (!runs.length) return <Card title={words.runs} text={words.noRunsText} />;
  return (
    <Card title={words.runs} isFull>
      <table className={table.table}>
        <thead>
          <tr>
            <th scope="col">{words.started}</th>
            <th scope="col">{words.outcome}</th>
            <th scope="col" className={table.number}>
              {words.took}
            </th>
            {COUNTS.map((name) => (
              <th key={name} scope="col" className={table.number}>
                {words[name]}
              </th>
            ))}
            <th scope="col">{words.where}</th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <RunRow key={`${run.started_at} ${run.holder}`} run={run} />
          ))}
        </tbody>
      </table>
    </Card>
  );
}

function RunRow({ run }: { run: Run }) {
  const words = useTexts(texts);
  const { number } = useFormats();
  const { span } = useUnits();
  const seconds = run.ended_at
    ? (Date.parse(run.ended_at) - Date.parse(run.started_at)) / 1000
    : null;
  return (
    <tr>
      <td className={styles.began}>
        <When at={run.started_at} />
        {run.is_asked && <span className={styles.asked}>{words.byHand}</span>}
        {run.reason && <div className={styles.reason}>{run.reason}</div>}
      </td>
      <td>
        <RunOutcome run={run} />
      </td>
      <td className={`${table.number} ${styles.took}`} data-label={words.took}>
        {seconds === null ? "–" : span(seconds)}
      </td>
      {COUNTS.map((name) => (
        <td key={name} className={table.number} data-label={words[name]}>
          {number(run.counts[name] ?? 0)}
        </td>
      ))}
      <td className={`${table.dim} ${styles.holder}`} title={run.holder}>
        {run.holder}
      </td>
    </tr>
  );
}

function RunOutcome({ run }: { run: Run }) {
  const words = useTexts(texts);
  if (run.outcome === "failed") return <StatusText status="error">{words.failed}</StatusText>;
  if (run.outcome === "skipped") return <StatusText status="warning">{words.skipped}</StatusText>;
  return <StatusText status="ok">{run.outcome === "done" ? words.done : words.running}</StatusText>;
}
