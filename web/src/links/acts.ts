// What is done to links, one or many. Versions are sent along: what somebody else changed meanwhile
// is not overwritten, but told.
import { useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { apiOf, need, Problem, type Schemas } from "../api/client";
import { type Link, show } from "./queries";

type Changes = Schemas["LinkEdit"];
/** `expiresAt`, for a single link: its new end; without it, it has none that has passed. */
export type Act =
  | { kind: "edit"; changesOf: (link: Link) => Changes }
  | { kind: "restore"; expiresAt?: string }
  | { kind: "delete" | "purge" };

export interface Failure {
  link: Link;
  problem: Problem;
}

/** `done` has the links as they are now; those that were purged, as they were. */
export interface Outcome {
  done: Link[];
  failed: Failure[];
}

export const PAUSE: Act = { kind: "edit", changesOf: () => ({ is_paused: true }) };
export const RESUME: Act = { kind: "edit", changesOf: () => ({ is_paused: false }) };
export const DELETE: Act = { kind: "delete" };
export const RESTORE = { kind: "restore" } as const;
export const PURGE: Act = { kind: "purge" };

// What one request takes.
const MOST_ITEMS = 1000;
const MOST_BYTES = 900_000;

type Item = Schemas["BulkItem"];
export type Tell = (count: number) => void;

/** Runs an act on links and renews every list of them. */
export function useActs(workspaceId: number | null) {
  const queries = useQueryClient();
  return useCallback(
    async (act: Act, links: readonly Link[], tell: Tell = () => {}): Promise<Outcome> => {
      try {
        const [only] = links;
        const outcome =
          links.length === 1 && only !== undefined
            ? await runOne(workspaceId, act, only)
            : await runMany(workspaceId, act, links, tell);
        if (act.kind === "edit") show(queries, workspaceId, outcome.done);
        return outcome;
      } finally {
        void queries.invalidateQueries({ queryKey: ["links"] });
      }
    },
    [workspaceId, queries],
  );
}

async function runOne(workspaceId: number | null, act: Act, link: Link): Promise<Outcome> {
  try {
    return { done: [await change(workspaceId, act, link)], failed: [] };
  } catch (error) {
    return { done: [], failed: [{ link, problem: asProblem(error) }] };
  }
}

/** By the paths for a single link: those for many may be used less often. */
async function change(workspaceId: number | null, act: Act, link: Link): Promise<Link> {
  const api = apiOf(workspaceId);
  const path = { link_id: link.id };
  const params = { path, header: { "if-match": `"${link.version}"` } };
  if (act.kind === "edit") {
    const body = act.changesOf(link);
    return need(api.PATCH("/api/v1/links/{link_id}", { params, body }));
  }
  if (act.kind === "restore") {
    const body = act.expiresAt === undefined ? {} : { expires_at: act.expiresAt };
    return need(api.POST("/api/v1/links/{link_id}/restore", { params, body }));
  }
  if (act.kind === "purge") {
    await need(api.DELETE("/api/v1/trash/{link_id}", { params }));
    return link;
  }
  await need(api.DELETE("/api/v1/links/{link_id}", { params }));
  return { ...link, status: "DELETED", version: link.version + 1 };
}

async function runMany(
  workspaceId: number | null,
  act: Act,
  links: readonly Link[],
  tell: Tell,
): Promise<Outcome> {
  const outcome: Outcome = { done: [], failed: [] };
  for (const piece of pieces(links.map((link) => [link, itemOf(act, link)]))) {
    try {
      const items = piece.map(([, item]) => item);
      const { results } = await send(workspaceId, items);
      for (const [index, [link]] of piece.entries()) {
        const found = results[index];
        if (found?.problem) outcome.failed.push({ link, problem: told(found.problem) });
        else outcome.done.push(found?.link ?? link);
      }
    } catch (error) {
      // Whether it was done is not known; the list, which is loaded again, tells.
      const problem = asProblem(error);
      outcome.failed.push(...piece.map(([link]) => ({ link, problem })));
    }
    tell(outcome.done.length + outcome.failed.length);
  }
  return outcome;
}

function itemOf(act: Act, { id, version, ...link }: Link): Item {
  if (act.kind !== "edit") return { action: act.kind, id, version };
  return { action: "edit", id, version, changes: act.changesOf({ id, version, ...link }) };
}

function* pieces(all: [Link, Item][]): Generator<[Link, Item][]> {
  let piece: [Link, Item][] = [];
  let bytes = 0;
  for (const pair of all) {
    const size = 4 * JSON.stringify(pair[1]).length;
    if (piece.length === MOST_ITEMS || (piece.length > 0 && bytes + size > MOST_BYTES)) {
      yield piece;
      piece = [];
      bytes = 0;
    }
    piece.push(pair);
    bytes += size;
  }
  if (piece.length > 0) yield piece;
}

/** Waits where it has to: what was begun is brought to an end. */
async function send(workspaceId: number | null, items: Item[]): Promise<Schemas["BulkResults"]> {
  for (;;) {
    try {
      return await need(apiOf(workspaceId).POST("/api/v1/links/bulk", { body: { items } }));
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 429) throw error;
      const seconds = error.retryAfterSeconds ?? 5;
      await new Promise((go) => window.setTimeout(go, seconds * 1000));
    }
  }
}

function told(problem: Schemas["Problem"]): Problem {
  const code = problem.type.split("/").at(-1) ?? "unknown";
  return new Problem(problem.status, code, problem.detail ?? "", null, problem);
}

export function asProblem(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem(500, "unknown", "");
}
