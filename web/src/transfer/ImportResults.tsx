import { Button } from "@mantine/core";
import { Link } from "wouter";
import { Problem } from "../api/client";
import { pathIn } from "../app/space";
import { useLanguage, useTexts } from "../strings/language";
import { useProblemText } from "../strings/problems";
import { transfer } from "../strings/transfer";
import { Card } from "../ui/Card";
import { type Column, DataTable } from "../ui/DataTable";
import { useFormats } from "../ui/format";
import { save } from "../ui/saving";
import { contentOf, rowsToFix } from "./rows";
import type { Format, ImportResult, RowProblem } from "./sending";
import styles from "./transfer.module.css";

const SHOWN = 100;
const VALUES = new Set(["field-refused", "instant-refused"]);

interface Props {
  file: File;
  format: Format;
  result: ImportResult;
  workspaceId: number | null;
  onImport: () => void;
  onOther: () => void;
}

/** What became of the rows, or would. */
export function ImportResults({ file, format, result, workspaceId, onImport, onOther }: Props) {
  const words = useTexts(transfer);
  const { isDry, problems } = result;
  const acts = isDry ? (
    <Button onClick={onImport}>{words.importNow}</Button>
  ) : (
    <>
      <Button variant="default" onClick={onOther}>
        {words.another}
      </Button>
      <Button component={Link} href={pathIn(workspaceId, "/links")}>
        {words.seeLinks}
      </Button>
    </>
  );
  return (
    <>
      <Card
        title={isDry ? words.dryDone : words.done}
        text={isDry ? words.nothing : undefined}
        acts={acts}
      >
        <Counts result={result} />
      </Card>
      {problems.length > 0 && <Problems file={file} format={format} result={result} />}
    </>
  );
}

function Counts({ result }: { result: ImportResult }) {
  const words = useTexts(transfer);
  const { number } = useFormats();
  const counts: [string, number][] = [
    [result.isDry ? words.wouldCreate : words.created, result.created],
    [words.existed, result.existed],
    [words.conflict, result.conflict],
    [words.refused, result.refused],
  ];
  return (
    <dl className={styles.counts} aria-live="polite">
      {counts.map(([label, count]) => (
        <div key={label} data-none={count === 0 || undefined}>
          <dt>{label}</dt>
          <dd>{number(count)}</dd>
        </div>
      ))}
    </dl>
  );
}

function Problems(props: { file: File; format: Format; result: ImportResult }) {
  const words = useTexts(transfer);
  const { number } = useFormats();
  const reasonOf = useReason();
  const { file, format, result } = props;
  const { problems, leftOut } = result;
  const text = leftOut > 0 ? words.leftOut(number(leftOut)) : words.problemsText;
  const name = file.name.replace(/\.[^.]*$/, "");
  const fix = async () => save(await rowsToFix(file, format, problems), `${name}-rest.${format}`);
  const report = () => {
    const lines = problems.map((row) => [
      `${words.line} ${row.line}`,
      contentOf(row),
      reasonOf(row),
    ]);
    const text = lines.map((parts) => `${parts.filter(Boolean).join(": ")}\n`);
    save(new Blob(text, { type: "text/plain" }), `${name}-report.txt`);
  };
  const acts = (
    <>
      <Button variant="default" onClick={report}>
        {words.report}
      </Button>
      <Button variant="default" onClick={fix}>
        {words.mend}
      </Button>
    </>
  );
  const columns: Column<RowProblem>[] = [
    { head: words.line, kind: "dim", cell: ({ line }) => number(line) },
    {
      head: words.value,
      cell: (row) => <span className={`${styles.cell} mono`}>{contentOf(row)}</span>,
    },
    { head: words.reason, className: styles.wrap, cell: reasonOf },
  ];
  return (
    <Card title={words.problems} text={text} acts={acts} isFull>
      <DataTable
        scrolls={words.problems}
        className={styles.stack}
        columns={columns}
        rows={problems.slice(0, SHOWN)}
        keyOf={({ line }) => line}
      />
      {problems.length > SHOWN && (
        <p className={styles.more}>
          {words.shown(number(SHOWN), number(problems.length + leftOut))}
        </p>
      )}
    </Card>
  );
}

/** Why a row stays out. The server says some of it in English only. */
function useReason(): (row: RowProblem) => string {
  const words = useTexts(transfer);
  const language = useLanguage();
  const text = useProblemText();
  return ({ outcome, problem, reason, field, url_problem }) => {
    if (outcome === "conflict") return words.taken;
    const isValue = VALUES.has(problem) && field;
    if (isValue && field === "original_url") return words.rowNoUrl;
    // Values of every kind: what the server says of them fits better than a sentence for all.
    if (isValue && language !== "en") return words.badField(field);
    const known = isValue
      ? reason
      : text(new Problem(422, problem, reason, null, { reason: url_problem }));
    return known.replaceAll("`", "");
  };
}
