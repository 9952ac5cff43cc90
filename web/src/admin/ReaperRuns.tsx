import { reaper as texts } from "../strings/adminReaper";
import { useTexts } from "../strings/language";
import { Card } from "../ui/Card";
import { type Column, DataTable } from "../ui/DataTable";
import { useFormats } from "../ui/format";
import { Tag } from "../ui/Tag";
import { When } from "../ui/When";
import type { Run } from "./queries";
import styles from "./ReaperPage.module.css";
import { RunOutcome } from "./RunOutcome";
import { useUnits } from "./units";

const COUNTS = ["marked", "trashed", "archived", "purged"] as const;

export function ReaperRuns({ runs }: { runs: readonly Run[] }) {
  const words = useTexts(texts);
  const { number } = useFormats();
  const { span } = useUnits();
  if (!runs.length) return <Card title={words.runs} text={words.noRunsText} />;
  const columns: Column<Run>[] = [
    {
      head: words.started,
      className: styles.began,
      cell: (run) => (
        <>
          <When at={run.started_at} /> {run.is_requested && <Tag>{words.byHand}</Tag>}
          {run.reason && <div className={styles.reason}>{run.reason}</div>}
        </>
      ),
    },
    { head: words.outcome, cell: (run) => <RunOutcome outcome={run.outcome} /> },
    {
      head: words.took,
      kind: "number",
      label: true,
      className: styles.took,
      cell: ({ started_at, ended_at }) =>
        ended_at ? span((Date.parse(ended_at) - Date.parse(started_at)) / 1000) : "–",
    },
    ...COUNTS.map(
      (name): Column<Run> => ({
        head: words[name],
        kind: "number",
        label: true,
        cell: (run) => number(run.counts[name] ?? 0),
      }),
    ),
    {
      head: words.where,
      kind: "dim",
      className: `truncate ${styles.holder}`,
      title: (run) => run.holder,
      cell: (run) => run.holder,
    },
  ];
  return (
    <Card title={words.runs} isFull>
      <DataTable columns={columns} rows={runs} keyOf={(run) => `${run.started_at} ${run.holder}`} />
    </Card>
  );
}
