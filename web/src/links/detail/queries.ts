// What the page of a link asks. Keys begin with "links", so that any change of a link renews them.
import { useQuery } from "@tanstack/react-query";
import { useParams } from "wouter";
import { apiOf, need, type Schemas } from "../../api/client";
import { everyPage } from "../../api/pages";
import { useMe } from "../../api/session";
import { useWorkspaceId } from "../../app/space";
import { useMembers } from "../../workspaces/queries";
import type { Link } from "../queries";

const LONGEST_MILLISECONDS = 3_600_000; // more than a month is more than a timer can hold

export type Checks = Schemas["LinkChecksRead"];
type Told = Schemas["HistoryEntryRead"];
/** `changes`: each field with what was there before and after. */
export type HistoryEntry = Omit<Told, "changes"> & { changes: Record<string, readonly unknown[]> };

/** Which link a page is about, by its address. */
export function useWhich(): { workspaceId: number | null; id: number } {
  const workspaceId = useWorkspaceId();
  const { id } = useParams<{ id: string }>();
  return { workspaceId, id: Number(id) };
}

export function useLink() {
  const { workspaceId, id } = useWhich();
  return useQuery({
    queryKey: ["links", workspaceId, "one", id],
    queryFn: ({ signal }) => {
      const params = { path: { link_id: id } };
      return need(apiOf(workspaceId).GET("/api/v1/links/{link_id}", { params, signal }));
    },
    refetchInterval: ({ state }) => millisecondsLeft(state.data),
  });
}

/** Until a link ends that does so while one looks at it; false: it does not. */
function millisecondsLeft(link: Link | undefined): number | false {
  if (link?.status !== "ACTIVE" || link.expires_at === null) return false;
  const left = Date.parse(link.expires_at) - Date.now();
  return Math.min(Math.max(left, 1000), LONGEST_MILLISECONDS);
}

export function useChecks(isWaiting: boolean) {
  const { workspaceId, id } = useWhich();
  return useQuery({
    queryKey: ["links", workspaceId, "checks", id],
    queryFn: ({ signal }) => {
      const params = { path: { link_id: id } };
      return need(apiOf(workspaceId).GET("/api/v1/links/{link_id}/checks", { params, signal }));
    },
    refetchInterval: isWaiting ? 1500 : false,
  });
}

export function useHistory() {
  const { workspaceId, id } = useWhich();
  return useQuery({
    queryKey: ["links", workspaceId, "history", id],
    queryFn: async ({ signal }): Promise<HistoryEntry[]> => {
      const path = "/api/v1/links/{link_id}/history";
      return everyPage("history", (query) => {
        const params = { path: { link_id: id }, query };
        return need(apiOf(workspaceId).GET(path, { params, signal }));
      });
    },
  });
}

/** Names of who may have changed a link, by their number; null stands for oneself. */
export function usePeople(): (accountId: number) => string | null | undefined {
  const { workspaceId } = useWhich();
  const me = useMe();
  const members = useMembers(workspaceId);
  return (accountId) => {
    if (accountId === me.data?.id) return null;
    return members.data?.find((member) => member.account_id === accountId)?.email;
  };
}
