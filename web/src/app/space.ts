import { useQuery } from "@tanstack/react-query";
import { useParams } from "wouter";
import { api, need, type Schemas } from "../api/client";
import { everyPage } from "../api/pages";

export type Workspace = Schemas["WorkspaceRead"];
export type Role = Schemas["Role"];

/** Whose links a page shows: those of a workspace, or (null) one's own. */
export function useWorkspaceId(): number | null {
  const { workspace } = useParams<{ workspace?: string }>();
  return workspace === undefined ? null : Number(workspace);
}

/** Those one is a member of; deleted ones too, as long as they can be restored. */
export function useWorkspaces() {
  return useQuery({ queryKey: ["workspaces"], queryFn: getWorkspaces });
}

export async function getWorkspaces(): Promise<Workspace[]> {
  return everyPage("workspaces", (query) =>
    need(api.GET("/api/v1/workspaces", { params: { query } })),
  );
}

/** What one is in a workspace; null while that is not known, and for who is no member. */
export function useRole(workspaceId: number | null): Role | null {
  const { data } = useWorkspaces();
  return data?.find(({ id, deleted_at }) => id === workspaceId && !deleted_at)?.role ?? null;
}

export interface May {
  /** Make, change, delete and import links, and rename tags. */
  editLinks: boolean;
  /** Change the workspace, its members, invitations and domains. */
  manage: boolean;
}

/** What one may do in a space. Nothing while that is not known: buttons come, they do not go. */
export function useMay(workspaceId: number | null): May {
  const role = useRole(workspaceId);
  return {
    editLinks: workspaceId === null || role === "owner" || role === "editor",
    manage: role === "owner",
  };
}

export function useMayEditLinks(workspaceId: number | null): boolean {
  return useMay(workspaceId).editLinks;
}

/** The address of a page in a space. */
export function pathIn(workspaceId: number | null, path: string): string {
  return workspaceId === null ? path : `/w/${workspaceId}${path}`;
}
