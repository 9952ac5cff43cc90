// An import on its way. The server answers when it has read the whole file; until then, how much of
// it is sent says how far it is, for it stores rows as they arrive.
import { need } from "../api/client";
import type { Format } from "./write";

export interface RowProblem {
  line: number;
  /** How many lines the row has. */
  lines: number;
  outcome: "conflict" | "refused";
  short_code?: string;
  original_url?: string;
  problem?: string;
  flaw?: string;
  reason?: string;
}

export interface ImportResult {
  isDry: boolean;
  created: number;
  existed: number;
  conflict: number;
  refused: number;
  problems: RowProblem[];
}

export interface Order {
  workspaceId: number | null;
  file: File;
  format: Format;
  isDry: boolean;
  /** From 0 to 1. */
  tell: (part: number) => void;
  signal: AbortSignal;
}

export async function sendFile(order: Order): Promise<ImportResult> {
  try {
    const text = await need(post(order));
    return { isDry: order.isDry, ...readResults(text) };
  } catch (error) {
    throw order.signal.aborted ? new Stopped() : error;
  }
}

interface Answer {
  data?: string;
  error?: unknown;
  response: Response;
}

/** `fetch` does not tell how much is sent. */
function post({ workspaceId, file, format, isDry, tell, signal }: Order): Promise<Answer> {
  const place = workspaceId === null ? "" : `/workspaces/${workspaceId}`;
  const request = new XMLHttpRequest();
  return new Promise((done, failed) => {
    request.open("POST", `/api/v1${place}/links/import?format=${format}&dry_run=${isDry}`);
    request.setRequestHeader("content-type", "application/octet-stream");
    request.upload.onprogress = (event) => tell(event.loaded / event.total);
    request.onload = () => {
      const wait = request.getResponseHeader("retry-after");
      const headers = wait ? { "retry-after": wait } : {};
      const response = new Response(null, { status: request.status, headers });
      const text = request.responseText;
      done(response.ok ? { data: text, response } : { error: parsed(text), response });
    };
    request.onerror = request.onabort = failed;
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

/** The reader wanted it to end. */
export class Stopped extends Error {}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

function readResults(text: string): Omit<ImportResult, "isDry"> {
  const problems: RowProblem[] = [];
  const starts: number[] = [];
  let summary = { created: 0, existed: 0, conflict: 0, refused: 0 };
  for (const line of text.split("\n")) {
    if (!line) continue;
    const found = JSON.parse(line) as RowProblem & { summary?: typeof summary };
    if (found.summary) summary = found.summary;
    else starts.push(found.line);
    const isOut = found.outcome === "conflict" || found.outcome === "refused";
    if (isOut) problems.push(found);
  }
  return { ...summary, problems: measured(problems, starts) };
}

/** In their order, each as long as there is no other row. */
function measured(problems: readonly RowProblem[], starts: number[]): RowProblem[] {
  starts.sort((one, other) => one - other);
  const next = new Map(starts.map((line, at) => [line, starts[at + 1]]));
  return problems
    .map((each) => ({ ...each, lines: (next.get(each.line) ?? Number.MAX_VALUE) - each.line }))
    .sort((one, other) => one.line - other.line);
}
