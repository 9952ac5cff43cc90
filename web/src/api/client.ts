import createClient from "openapi-fetch";
import type { components, paths } from "./schema";

export type Schemas = components["schemas"];

/** Calls of the API, typed by its OpenAPI document. Pages wrap them in `need`. */
export const api = createClient<paths>({ credentials: "same-origin" });

/** The same calls in a workspace: every root path about links, tags, trash and stats has a twin there. */
export function apiOf(workspaceId: number | null): typeof api {
  if (workspaceId === null) return api;
  const root = `/api/v1/workspaces/${workspaceId}/`;
  return createClient<paths>({
    credentials: "same-origin",
    fetch: async (request) => {
      const url = new URL(request.url);
      url.pathname = url.pathname.replace(/^\/api\/v1\/(?:me\/)?/, root);
      // As bytes: browsers send a body that is a stream over HTTP/2 only, and Firefox shows none.
      const hasBody = !["GET", "HEAD"].includes(request.method);
      const body = hasBody ? await request.arrayBuffer() : null;
      const { method, headers, credentials, signal } = request;
      return fetch(url, { method, headers, credentials, signal, body });
    },
  });
}

type Outcome<T> = { data?: T; error?: unknown; response: Response };

/** What an answer holds; throws a `Problem` for any other than a good one. */
export async function need<T>(call: Promise<Outcome<T>>): Promise<T> {
  let outcome: Outcome<T>;
  try {
    outcome = await call;
  } catch {
    throw new Problem(0, "offline", "");
  }
  if (outcome.response.ok) return outcome.data as T;
  const problem = problemOf(outcome.response, outcome.error);
  if (problem.status === 401 && problem.code !== "sign-in-refused") sessionEnded?.();
  throw problem;
}

let sessionEnded: (() => void) | undefined;

/** `tell` is called whenever the server does not know us any more. */
export function onSessionEnd(tell: () => void): void {
  sessionEnded = tell;
}

/** A failure somebody can act on. `status` 0: there was no answer. */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly status: number;
  /** As in docs/reference/problems.md, or `offline` or `unknown`. */
  readonly code: string;
  /** The server's own sentence, in English. */
  readonly detail: string;
  readonly retryAfterSeconds: number | null;
  readonly fields: Record<string, unknown>;
  /** The fields of the request that were refused, without the place in a list: `tags`, not `tags.0`. */
  readonly refused: readonly string[];

  constructor(
    status: number,
    code: string,
    detail: string,
    retryAfterSeconds: number | null = null,
    fields: Record<string, unknown> = {},
  ) {
    super(`${status} ${code}`);
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.retryAfterSeconds = retryAfterSeconds;
    this.fields = fields;
    const { field, errors } = fields as Partial<Schemas["Problem"]>;
    const names = field ? [field] : (errors ?? []).map((error) => error.field);
    this.refused = names.map((name) => name.replace(/\.\d+$/, ""));
  }
}

/** Whether it was this field that the server refused. */
export function isRefused(error: unknown, field: string): boolean {
  return error instanceof Problem && error.refused.includes(field);
}

function problemOf(response: Response, body: unknown): Problem {
  const fields = typeof body === "object" && body !== null ? (body as Record<string, unknown>) : {};
  const type = String(fields.type ?? "");
  const code = type.startsWith("/api/problems/") ? type.slice("/api/problems/".length) : "unknown";
  const wait = Number.parseInt(response.headers.get("retry-after") ?? "", 10);
  return new Problem(
    response.status,
    code,
    String(fields.detail ?? ""),
    Number.isNaN(wait) ? null : wait,
    fields,
  );
}

/** A key under which a create may be sent again without making two. */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
