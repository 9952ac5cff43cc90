// Files of the rows that the server did not take, cut out by the lines that it names.
import type { Format, RowProblem } from "./sending";

/** The rows as they were: a file to fix and to import again. */
export async function rowsToFix(
  file: Blob,
  format: Format,
  problems: readonly RowProblem[],
): Promise<Blob> {
  const lines = (await file.text()).split("\n");
  const head = format === "csv" ? lines.slice(0, 1) : [];
  const rows = problems.flatMap(({ line, last_line }) => lines.slice(line - 1, last_line ?? line));
  const text = [...head, ...rows].map((line) => `${line.replace(/\r$/, "")}\n`);
  return new Blob(text, { type: format === "csv" ? "text/csv" : "application/jsonl" });
}

/** What stands in a row, as far as the server could read it. */
export function contentOf({ short_code, original_url }: RowProblem): string {
  return [short_code && `/${short_code}`, original_url].filter(Boolean).join(" → ");
}
