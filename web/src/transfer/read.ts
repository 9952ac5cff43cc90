// A first look at a file before it is sent. The server judges; this shows what it will meet.
import { fieldOf } from "./fields";
import type { Format } from "./write";

export type Trouble =
  | { kind: "noUrl" | "badUrl" | "quotes" | "json" }
  | { kind: "cells"; found: number; wanted: number }
  | { kind: "unknown"; names: readonly string[] };

export interface PreviewRow {
  line: number;
  /** By field. */
  values: Record<string, string>;
  trouble: Trouble | null;
}

/** What is wrong with the file as a whole: it would be refused. */
export type Fault =
  | { kind: "unknownColumns"; names: readonly string[] }
  | { kind: "twice"; field: string }
  | { kind: "noUrl" | "empty" | "notText" };

export interface Preview {
  format: Format;
  columns: { name: string; field: string | null }[];
  /** The first ones, and the first ones with a trouble. */
  rows: PreviewRow[];
  faults: Fault[];
  count: number;
  /** False: the file goes on behind what was looked at. */
  isWhole: boolean;
  troubles: number;
}

const LOOKED_AT = 4 * 1024 * 1024;
const FIRST = 5;
const TROUBLED = 5;

export function formatOf(name: string): Format {
  return /\.(jsonl|ndjson|json)$/i.test(name) ? "jsonl" : "csv";
}

export async function look(file: File, format: Format): Promise<Preview> {
  const bytes = await file.slice(0, LOOKED_AT).arrayBuffer();
  const isWhole = file.size <= LOOKED_AT;
  const faults: Fault[] = [];
  let text: string;
  try {
    // A byte order mark is dropped; a character that the end cuts in two is no fault.
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: !isWhole });
  } catch {
    faults.push({ kind: "notText" });
    text = new TextDecoder().decode(bytes);
  }
  const found = format === "csv" ? lookAtCsv(text, isWhole) : lookAtLines(text, isWhole);
  if (found.count === 0 && found.faults.length === 0) found.faults.push({ kind: "empty" });
  return { format, isWhole, ...found, faults: [...faults, ...found.faults] };
}

type Found = Omit<Preview, "format" | "isWhole">;

class Sample {
  readonly rows: PreviewRow[] = [];
  count = 0;
  troubles = 0;

  add(row: PreviewRow): void {
    this.count += 1;
    if (row.trouble) this.troubles += 1;
    const isShown = this.count <= FIRST || (row.trouble && this.rows.length < FIRST + TROUBLED);
    if (isShown) this.rows.push(row);
  }
}

function lookAtCsv(text: string, isWhole: boolean): Found {
  const rows = readCsv(text);
  const first = rows.next();
  const names = first.done ? [] : first.value.cells;
  const columns = names.map((name) => ({ name, field: fieldOf(name) }));
  const fields = columns.map(({ field }) => field);
  const faults = first.done ? [] : faultsOf(columns);
  const sample = new Sample();
  for (const { line, cells, isOpen } of rows) {
    if (isOpen && !isWhole) break; // cut by us
    const values = Object.fromEntries(fields.map((field, at) => [field ?? "", cells[at] ?? ""]));
    const trouble: Trouble | null = isOpen
      ? { kind: "quotes" }
      : cells.length !== fields.length
        ? { kind: "cells", found: cells.length, wanted: fields.length }
        : fields.includes("original_url")
          ? urlTrouble(values.original_url)
          : null;
    sample.add({ line, values, trouble });
  }
  const { rows: shown, count, troubles } = sample;
  return { columns, rows: shown, faults, count, troubles };
}

function faultsOf(columns: Preview["columns"]): Fault[] {
  const faults: Fault[] = [];
  const unknown = columns.filter(({ field }) => field === null).map(({ name }) => name);
  if (unknown.length > 0) {
    faults.push({ kind: "unknownColumns", names: unknown });
  }
  const fields = columns.flatMap(({ field }) => field ?? []);
  const twice = fields.find((field, at) => fields.indexOf(field) !== at);
  if (twice) faults.push({ kind: "twice", field: twice });
  if (!fields.includes("original_url")) faults.push({ kind: "noUrl" });
  return faults;
}

function urlTrouble(url: unknown): Trouble | null {
  if (typeof url !== "string" || !url.trim()) return { kind: "noUrl" };
  return /^\s*'?https?:\/\//i.test(url) ? null : { kind: "badUrl" };
}

function lookAtLines(text: string, isWhole: boolean): Found {
  const names = new Set<string>();
  const sample = new Sample();
  const lines = text.split("\n");
  if (!isWhole) lines.pop();
  for (const [index, line] of lines.entries()) {
    if (line.trim()) sample.add(readObject(line, index + 1, names));
  }
  const columns = [...names].map((name) => ({ name, field: fieldOf(name) }));
  const { rows, count, troubles } = sample;
  return { columns, rows, faults: [], count, troubles };
}

function readObject(line: string, number: number, names: Set<string>): PreviewRow {
  let found: unknown;
  try {
    found = JSON.parse(line);
  } catch {
    found = null;
  }
  if (typeof found !== "object" || found === null || Array.isArray(found)) {
    return { line: number, values: {}, trouble: { kind: "json" } };
  }
  const values: Record<string, string> = {};
  const unknown: string[] = [];
  for (const [name, value] of Object.entries(found)) {
    names.add(name);
    const field = fieldOf(name);
    if (field === null) unknown.push(name);
    else values[field] = shown(value);
  }
  const trouble: Trouble | null =
    unknown.length > 0 ? { kind: "unknown", names: unknown } : urlTrouble(values.original_url);
  return { line: number, values, trouble };
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

interface CsvRow {
  line: number;
  cells: string[];
  /** A quote was opened and not closed. */
  isOpen: boolean;
}

/** Rows by RFC 4180, of commas or semicolons, whichever the first line has more of. */
export function* readCsv(text: string): Generator<CsvRow> {
  const head = text.slice(0, text.indexOf("\n") + 1 || text.length);
  const isSemicolon = head.split(";").length > head.split(",").length;
  const part = isSemicolon ? /[";\n]/g : /[",\n]/g;
  let line = 1;
  let begun = 1;
  let cells: string[] = [];
  let cell = "";
  let at = 0;
  const end = (text: string) => cells.push(text.endsWith("\r") ? text.slice(0, -1) : text);
  while (at < text.length) {
    part.lastIndex = at;
    const hit = part.exec(text);
    const stop = hit ? hit.index : text.length;
    cell += text.slice(at, stop);
    at = stop + 1;
    if (hit?.[0] === '"') {
      const close = closing(text, at);
      if (close === -1) {
        cells.push(cell + text.slice(at));
        yield { line: begun, cells, isOpen: true };
        return;
      }
      const inside = text.slice(at, close);
      line += inside.split("\n").length - 1;
      cell += inside.replaceAll('""', '"');
      at = close + 1;
    } else if (hit && hit[0] !== "\n") {
      cells.push(cell);
      cell = "";
    } else {
      end(cell);
      if (cells.length > 1 || cells[0]) yield { line: begun, cells, isOpen: false };
      cells = [];
      cell = "";
      line += 1;
      begun = line;
    }
  }
  if (cells.length > 0 || cell) {
    end(cell);
    yield { line: begun, cells, isOpen: false };
  }
}

/** Where the quote ends that was opened before `from`; -1: nowhere. */
function closing(text: string, from: number): number {
  let at = text.indexOf('"', from);
  while (at !== -1 && text[at + 1] === '"') at = text.indexOf('"', at + 2);
  return at;
}
