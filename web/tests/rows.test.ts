import { expect, test } from "vitest";
import { rowsToFix } from "../src/transfer/rows";
import { formatOf, type RowProblem } from "../src/transfer/sending";

const problemAt = (line: number, last_line: number | null = null): RowProblem => ({
  line,
  last_line,
  outcome: "refused",
  problem: "url-refused",
  reason: "",
});

test("rows that were not imported are cut out as they were", async () => {
  const file = new Blob(['url;notes\r\nx;\r\ny;"two\nlines"\r\nhttps://example.com/;\r\n']);
  const rest = await rowsToFix(file, "csv", [problemAt(2), problemAt(3, 4)]);
  expect(await rest.text()).toBe('url;notes\nx;\ny;"two\nlines"\n');
});

test("lines of JSON need no head", async () => {
  const rest = await rowsToFix(new Blob(["{}\n[]\n7"]), "jsonl", [problemAt(2), problemAt(3)]);
  expect(await rest.text()).toBe("[]\n7\n");
});

test("a format is known by the end of a name", () => {
  expect(formatOf("links.JSONL")).toBe("jsonl");
  expect(formatOf("links.ndjson")).toBe("jsonl");
  expect(formatOf("links.txt")).toBe("csv");
});
