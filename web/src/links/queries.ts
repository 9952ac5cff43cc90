// What the pages of links ask the server. Keys begin with "links": a change invalidates them all.
import { type QueryClient, useQuery } from "@tanstack/react-query";
import { apiOf, need, type Schemas } from "../api/client";
import { everyPage, wholePage } from "../api/pages";

export type Link = Schemas["LinkRead"];
export type LinkPage = Schemas["LinkList"];
export type Sort = Schemas["Sort"];
export type Check = Schemas["DestinationStatus"];

export interface Filter {
  search: string;
  status: Schemas["Status"] | null;
  tag: string | null;
  check: Check | null;
  /** The first and the last day it was made on, as 2026-11-01, where the reader lives. */
  from: string | null;
  to: string | null;
  sort: Sort;
}

export const PAGE = 50;
export const SHORTEST_SEARCH = 3;

/** A page of links. While the next one is on its way the last one stays, if it is of the same place. */
export function useLinks(workspaceId: number | null, filter: Filter, cursor: string | null) {
  return useQuery({
    queryKey: ["links", workspaceId, "page", filter, cursor],
    queryFn: ({ signal }) => getPage(workspaceId, filter, cursor, signal),
    placeholderData: (last, asked) => (asked?.queryKey[1] === workspaceId ? last : undefined),
  });
}

function getPage(
  workspaceId: number | null,
  filter: Filter,
  cursor: string | null,
  signal: AbortSignal,
): Promise<LinkPage> {
  return wholePage(PAGE, cursor, (query) => {
    const asked = { ...queryOf(filter), sort: filter.sort, ...query };
    return need(apiOf(workspaceId).GET("/api/v1/links", { params: { query: asked }, signal }));
  });
}

/** A filter as the server takes it, in lists and exports. */
export function queryOf({ search, status, tag, check, from, to }: Filter) {
  return told({
    search: search.length >= SHORTEST_SEARCH ? search : null,
    status,
    tag,
    destination_status: check,
    created_from: from && midnight(from, 0),
    created_before: to && midnight(to, 1),
  });
}

/** When a day begins here, or one so many days later. */
function midnight(day: string, later: number): string {
  const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
  return new Date(year, month - 1, date + later).toISOString();
}

export function useTags(workspaceId: number | null) {
  return useQuery({
    queryKey: ["links", workspaceId, "tags"],
    queryFn: () =>
      everyPage("tags", (query) =>
        need(apiOf(workspaceId).GET("/api/v1/tags", { params: { query } })),
      ),
  });
}

/** Puts the new states of links wherever they are shown: whoever edits one at once does so over what was saved. */
export function show(queries: QueryClient, workspaceId: number | null, links: readonly Link[]) {
  const states = new Map(links.map((link) => [link.id, link]));
  for (const link of links) queries.setQueryData(["links", workspaceId, "one", link.id], link);
  queries.setQueriesData<LinkPage>({ queryKey: ["links", workspaceId, "page"] }, (page) => {
    return page && { ...page, links: page.links.map((it) => states.get(it.id) ?? it) };
  });
}

/** Restored, it answers again: somebody has to want that. */
export function hasExpired({ expires_at }: Link): boolean {
  return expires_at !== null && Date.parse(expires_at) <= Date.now();
}

/** What has ended answers nobody already. */
export function mayPause({ status }: Link): boolean {
  return status === "ACTIVE";
}

/** What is null is not sent. */
function told<T extends object>(query: T): T {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== null)) as T;
}
