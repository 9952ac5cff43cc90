// What numbers are about. Every one has the same three addresses: stats, stats/live, stats/export.
import { api, apiOf, need, type Schemas } from "../api/client";

export type Subject =
  | { kind: "link"; workspaceId: number | null; id: number }
  | { kind: "tag"; workspaceId: number | null; tag: string }
  | { kind: "space"; workspaceId: number | null }
  | { kind: "installation" };

export type Report = Schemas["StatsRead"];
export type Interval = Schemas["Interval"];

export interface Question {
  from?: string;
  to?: string;
  zone?: string;
  interval?: Interval;
  top?: number;
  compare?: boolean;
}

/** For what is no call of `api`: events, and files to save. */
export function pathOf(subject: Subject): string {
  if (subject.kind === "installation") return "/api/v1/admin/stats";
  const { workspaceId } = subject;
  const place = workspaceId === null ? "/api/v1" : `/api/v1/workspaces/${workspaceId}`;
  if (subject.kind === "link") return `${place}/links/${subject.id}/stats`;
  if (subject.kind === "tag") return `${place}/tags/${encodeURIComponent(subject.tag)}/stats`;
  return workspaceId === null ? "/api/v1/me/stats" : `${place}/stats`;
}

export function getReport(subject: Subject, query: Question, signal: AbortSignal): Promise<Report> {
  switch (subject.kind) {
    case "link": {
      const params = { path: { link_id: subject.id }, query };
      const path = "/api/v1/links/{link_id}/stats";
      return need(apiOf(subject.workspaceId).GET(path, { params, signal }));
    }
    case "tag": {
      const params = { path: { tag: subject.tag }, query };
      return need(apiOf(subject.workspaceId).GET("/api/v1/tags/{tag}/stats", { params, signal }));
    }
    case "space":
      return need(
        apiOf(subject.workspaceId).GET("/api/v1/me/stats", { params: { query }, signal }),
      );
    case "installation":
      return need(api.GET("/api/v1/admin/stats", { params: { query }, signal }));
  }
}
