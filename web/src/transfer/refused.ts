import type { RowProblem } from "./sending";
import { disarm, type Format, row } from "./write";

const LONGEST_ROW = 64 * 1024;

/** The rows that stayed out, as they were: a file to mend and to import again. */
export async function rowsToMend(
  file: File,
  format: Format,
  problems: readonly RowProblem[],
): Promise<Blob> {
  const lines = (await file.text()).split("\n");
  const head = format === "csv" ? [`${lines[0]}\n`] : [];
  const rows = problems.map(({ line }) => {
    const begin = line - 1;
    const end = format === "csv" ? endOf(lines, begin) : line;
    return `${lines.slice(begin, end).join("\n").trimEnd()}\n`;
  });
  return new Blob([...head, ...rows], {
    type: format === "csv" ? "text/csv" : "application/jsonl",
  });
}

/** Behind the row that begins there: a row goes on while a quote is open. One that is never closed is
 *  a mistake of that line alone, as the server sees it. */
function endOf(lines: readonly string[], begin: number): number {
  let quotes = 0;
  let size = 0;
  for (let at = begin; at < lines.length && size <= LONGEST_ROW; at++) {
    const line = lines[at] ?? "";
    quotes += line.split('"').length - 1;
    size += line.length + 1;
    if (quotes % 2 === 0) return at + 1;
  }
  return begin + 1;
}

/** What was wrong with each, for people. */
export function report(problems: readonly RowProblem[]): Blob {
  const lines = problems.map((each) =>
    row([
      each.line,
      each.outcome,
      disarm(each.short_code ?? ""),
      disarm(each.original_url ?? ""),
      each.problem,
      disarm(each.reason),
    ]),
  );
  const head = row(["line", "outcome", "short_code", "original_url", "problem", "reason"]);
  return new Blob([head, ...lines], { type: "text/csv" });
}
