// An import on its way. The server takes the whole file first, then stores its rows and answers.
import { need, type Schemas } from "../api/client";

export type Format = Schemas["TransferFormat"];
export type RowProblem = Schemas["RowProblem"];

export interface ImportResult {
  isDry: boolean;
  rows: number;
  created: number;
  existed: number;
  conflict: number;
  refused: number;
  /** The first ones; `leftOut` says how many more there are. */
  problems: RowProblem[];
  leftOut: number;
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

export function formatOf(name: string): Format {
  return /\.(jsonl|ndjson|json)$/i.test(name) ? "jsonl" : "csv";
}

export async function sendFile(order: Order): Promise<ImportResult> {
  try {
    const text = await need(post(order));
    const found = JSON.parse(text) as Schemas["ImportResult"];
    const { summary, problems, problems_left_out: leftOut } = found;
    return { isDry: order.isDry, ...summary, problems, leftOut };
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
