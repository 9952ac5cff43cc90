import { health } from "../strings/adminHealth";
import { system as texts } from "../strings/adminSystem";
import { useTexts } from "../strings/language";
import { Card } from "../ui/Card";
import { type Column, DataTable } from "../ui/DataTable";
import { timeColumn } from "../ui/timeColumn";
import { When } from "../ui/When";
import type { Job } from "./queries";
import { RunOutcome } from "./RunOutcome";
import styles from "./SystemPage.module.css";
import { useUnits } from "./units";

/** What is done now and then, as it was told `at` an instant; nothing while nobody can tell. */
export function JobsCard({ jobs, at }: { jobs: readonly Job[] | null; at: string }) {
  const words = useTexts(texts);
  const { jobs: title } = useTexts(health);
  const { span } = useUnits();
  if (!jobs) return null;
  const names: Record<string, unknown> = { ...words, checks: words.checksJob };
  const isDue = (run: string) => Date.parse(run) <= Date.parse(at) + 1000;
  const columns: Column<Job>[] = [
    {
      head: words.job,
      cell: (job) => (
        <>
          <b className={styles.name}>{String(names[job.job] ?? job.job)}</b>
          {job.last_run?.reason && <div className={styles.reason}>{job.last_run.reason}</div>}
          {job.lease && <div className={styles.reason}>{job.lease.holder}</div>}
        </>
      ),
    },
    { head: words.outcome, cell: (job) => <JobOutcome job={job} /> },
    timeColumn(words.lastRun, (job) => job.last_run?.started_at, words.never),
    {
      head: words.nextRun,
      kind: "dim",
      label: true,
      cell: ({ next_run_at: next }) =>
        next === null ? words.off : isDue(next) ? words.due : <When at={next} />,
    },
    { head: words.interval, kind: "dim", label: true, cell: (job) => span(job.interval_seconds) },
  ];
  return (
    <Card title={title} text={words.jobsText} isFull>
      <DataTable columns={columns} rows={jobs} keyOf={(job) => job.job} />
    </Card>
  );
}

function JobOutcome({ job: { lease, last_run } }: { job: Job }) {
  if (!lease && !last_run) return <span className={styles.none}>–</span>;
  return <RunOutcome outcome={lease ? null : (last_run?.outcome ?? null)} />;
}
