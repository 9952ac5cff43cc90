// What the pages of a workspace ask the server, and change there.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, apiOf, need, type Schemas } from "../api/client";
import { everyPage } from "../api/pages";
import type { Workspace } from "../app/space";

export type Member = Schemas["MemberRead"];
export type Invitation = Schemas["InvitationRead"];
export type Domain = Schemas["DomainRead"];

/** The parameters of a path about a workspace. */
export function at(workspaceId: number) {
  return { params: { path: { workspace_id: workspaceId } } };
}

function pageAt<Q>(workspaceId: number, query: Q) {
  return { params: { path: { workspace_id: workspaceId }, query } };
}

export function useWorkspace(workspaceId: number) {
  return useQuery({
    queryKey: ["workspaces", workspaceId],
    queryFn: () => need(api.GET("/api/v1/workspaces/{workspace_id}", at(workspaceId))),
  });
}

/** Nobody is asked about one's own place (null). */
export function useMembers(workspaceId: number | null) {
  return useQuery({
    queryKey: ["workspaces", workspaceId, "members"],
    queryFn: () => getMembers(workspaceId ?? 0),
    enabled: workspaceId !== null,
  });
}

export async function getMembers(workspaceId: number): Promise<Member[]> {
  const path = "/api/v1/workspaces/{workspace_id}/members";
  return everyPage("members", (query) => need(api.GET(path, pageAt(workspaceId, query))));
}

/** For owners. */
export function useInvitations(workspaceId: number) {
  const path = "/api/v1/workspaces/{workspace_id}/invitations";
  return useQuery({
    queryKey: ["workspaces", workspaceId, "invitations"],
    queryFn: () =>
      everyPage("invitations", (query) => need(api.GET(path, pageAt(workspaceId, query)))),
  });
}

export function useDomains(workspaceId: number) {
  const path = "/api/v1/workspaces/{workspace_id}/domains";
  return useQuery({
    queryKey: ["workspaces", workspaceId, "domains"],
    queryFn: () => everyPage("domains", (query) => need(api.GET(path, pageAt(workspaceId, query)))),
  });
}

/** Of a workspace, or (null) one's own. */
export function useQuota(workspaceId: number | null) {
  return useQuery({
    queryKey: ["quota", workspaceId],
    queryFn: () => need(apiOf(workspaceId).GET("/api/v1/me/quota")),
  });
}

/** Has all that is shown of workspaces asked for again. */
export function useRenewal(): () => Promise<void> {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: ["workspaces"] });
}

export function editWorkspace(id: number, body: Schemas["WorkspaceEdit"]): Promise<Workspace> {
  return need(api.PATCH("/api/v1/workspaces/{workspace_id}", { ...at(id), body }));
}

export function restoreWorkspace(id: number): Promise<Workspace> {
  return need(api.POST("/api/v1/workspaces/{workspace_id}/restore", at(id)));
}
