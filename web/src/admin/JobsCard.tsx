import { system as texts } from "../strings/adminSystem";
import { useTexts } from "../strings/language";
import { Card } from "../ui/Card";
import table from "../ui/table.module.css";
import { When } from "../ui/When";
import type { Job } from "./queries";
import { StatusText } from "./StatusText";
import styles from "./SystemPage.module.css";
import { useUnits } from "./units";

/** What is done now and then, as it was told `at` an instant; nothing while nobody can tell. */
export function JobsCard({ jobs, at }: { jobs: readonly Job[] | null; at: string }) {
  const words = useTexts(texts);
  if (!jobs) return null;
  return (
    <Card title={words.jobs} text={words.jobsText} isFull>
      <table className={table.table}>
        <thead>
          <tr>
            <th scope="col">{words.job}</th>
            <th scope="col">{words.outcome}</th>
            <th scope="col">{words.lastRun}</th>
            <th scope="col">{words.nextRun}</th>
            <th scope="col">{words.every}</th>
          </tr>
        </thead>
        <tbody>
          {jobs.map((job) => (
            <JobRow key={job.job} job={job} at={at} />
          ))}
        </tbody>
      </table>
    </Card>
  );
}

function JobRow({ job, at }: { job: Job; at: string }) {
  const words = useTexts(texts);
  const { span } = useUnits();
  const names: Record<string, unknown> = { ...words, checks: words.checksJob };
  const isDue = job.next_run_at !== null && Date.parse(job.next_run_at) <= Date.parse(at) + 1000;
  return (
    <tr>
      <td>
        <b className={styles.name}>{String(names[job.job] ?? job.job)}</b>
        {job.last_run?.reason && <div className={styles.reason}>{job.last_run.reason}</div>}
        {job.lease && <div className={styles.reason}>{job.lease.holder}</div>}
      </td>
      <td>
        <JobOutcome job={job} />
      </td>
      <td className={table.dim} data-label={words.lastRun}>
        {job.last_run ? <When at={job.last_run.started_at} /> : words.never}
      </td>
      <td className={table.dim} data-label={words.nextRun}>
        {job.next_run_at === null ? words.off : isDue ? words.due : <When at={job.next_run_at} />}
      </td>
      <td className={table.dim} data-label={words.every}>
        {span(job.interval_seconds)}
      </td>
    </tr>
  );
}

function JobOutcome({ job }: { job: Job }) {
  const words = useTexts(texts);
  if (job.lease) return <StatusText status="ok">{words.running}</StatusText>;
  const outcome = job.last_run?.outcome;
  if (outcome === "failed") return <StatusText status="error">{words.failed}</StatusText>;
  if (outcome === "skipped") return <StatusText status="warning">{words.skipped}</StatusText>;
  if (outcome === "done") return <StatusText status="ok">{words.done}</StatusText>;
  return <span className={table.dim}>–</span>;
}
