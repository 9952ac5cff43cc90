import type { RowProblem } from "./sending";
import { disarm, type Format, row } from "./write";

/** The rows that stayed out, as they were: a file to mend and to import again. */
export async function rowsToMend(
  file: File,
  format: Format,
  problems: readonly RowProblem[],
): Promise<Blob> {
  const lines = (await file.text()).split("\n");
  const head = format === "csv" ? [`${lines[0]}\n`] : [];
  const rows = problems.map(({ line, lines: count }) => {
    const begin = line - 1;
    const raw = lines.slice(begin, Math.min(lines.length, begin + count)).join("\n");
    return `${raw.trimEnd()}\n`;
  });
  return new Blob([...head, ...rows], {
    type: format === "csv" ? "text/csv" : "application/jsonl",
  });
}

/** What was wrong with each, for people. */
export function report(problems: readonly RowProblem[]): Blob {
  const lines = problems.map((each) =>
    row([
      each.line,
      each.outcome,
      disarm(each.short_code ?? ""),
      disarm(each.original_url ?? ""),
      each.problem ?? "",
      disarm(each.reason ?? ""),
    ]),
  );
  const head = row(["line", "outcome", "short_code", "original_url", "problem", "reason"]);
  return new Blob([head, ...lines], { type: "text/csv" });
}
