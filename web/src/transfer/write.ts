// Links as lines of a file in the format of exports: docs/reference/transfer-format.md.
import type { Link } from "../links/queries";

export type Format = "csv" | "jsonl";

// A spreadsheet runs a cell that begins so; see src/kurz/links/cells.py, which takes it back.
const MARKS = "=+\\-@\uff1d\uff0b\uff0d\uff20";
const FORMULA = new RegExp(`^['\\s]*[${MARKS}\\t\\r\\n]`, "u");
const INNER_FORMULA = new RegExp(`(?<=[;\\t\\r\\n])(?=[' "]*[${MARKS}])`, "gu");

/** The cell so that no spreadsheet runs it or a part of it. */
export function disarm(cell: string): string {
  const inner = cell.replace(INNER_FORMULA, "'");
  return FORMULA.test(inner) ? `'${inner}` : inner;
}

/** A line of CSV. */
export function row(cells: readonly (string | number | null)[]): string {
  const quoted = cells.map((cell) => {
    const text = cell === null ? "" : String(cell);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  });
  return `${quoted.join(",")}\r\n`;
}

const TEXTS = new Set(["short_code", "original_url", "title", "tags", "notes"]);

type Value = string | number | boolean | null | string[];

function record(link: Link, workspace: string): Record<string, Value> {
  return {
    short_code: link.short_code,
    original_url: link.original_url,
    title: link.title,
    tags: link.tags,
    notes: link.notes,
    status: link.status,
    link_type: link.link_type,
    strategy: link.strategy,
    redirect_status: link.redirect_status,
    forward_query: link.forward_query,
    max_clicks: link.max_clicks,
    clicks_used: link.clicks_used,
    created_at: link.created_at,
    updated_at: link.updated_at,
    starts_at: link.starts_at,
    expires_at: link.expires_at,
    deleted_at: link.deleted_at,
    swept_at: link.swept_at,
    redirect_count: link.redirect_count,
    avg_redirect_ms: link.avg_redirect_ms,
    workspace,
  };
}

export function fileOf(links: readonly Link[], format: Format, workspace: string): Blob {
  const records = links.map((link) => record(link, workspace));
  if (format === "jsonl") {
    const lines = records.map((each) => `${JSON.stringify(each)}\n`);
    return new Blob(lines, { type: "application/jsonl" });
  }
  const head = row(Object.keys(records[0] ?? {}));
  return new Blob([head, ...records.map((each) => row(Object.entries(each).map(cell)))], {
    type: "text/csv",
  });
}

function cell([name, value]: [string, Value]): string | number | null {
  const text = Array.isArray(value)
    ? value.map((tag) => tag.replace(/[\\|]/g, "\\$&")).join("|")
    : value;
  if (typeof text === "boolean") return String(text);
  return TEXTS.has(name) && typeof text === "string" ? disarm(text) : text;
}
