// What the pages of the administration ask the server. Keys begin with "admin".
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, need, type Schemas } from "../api/client";
import { everyPage } from "../api/pages";

export type System = Schemas["SystemRead"];
export type HealthComponent = Schemas["HealthComponent"];
export type Job = Schemas["JobRead"];
export type RunningInstance = Schemas["RunningInstanceRead"];
export type Reaper = Schemas["ReaperRead"];
export type Run = Schemas["RunRead"];
export type Account = Schemas["AccountRead"];
export type Person = Account & { isBanned: boolean };
export type Report = Schemas["ReportRead"];
export type ReportState = Report["state"];
export type Bans = Schemas["BanList"];
export type AuditEntry = Schemas["AuditEntryRead"];

export const LOOK_MS = 5000;
const WAITING_MS = 1000;
const RESTING_MS = 10_000;
export const REPORTS_PAGE = 100;
export const AUDIT_PAGE = 50;

/** Looked at again and again, as long as somebody sees it. */
export function useSystem() {
  return useQuery({
    queryKey: ["admin", "system"],
    queryFn: () => need(api.GET("/api/v1/admin/system")),
    refetchInterval: LOOK_MS,
    retry: false,
  });
}

/** More often while a run is waited for. */
export function useReaper(isWaiting: boolean) {
  return useQuery({
    queryKey: ["admin", "reaper"],
    queryFn: getReaper,
    refetchInterval: ({ state }) => {
      const reaper = state.data?.reaper;
      const isBusy = isWaiting || reaper?.is_running || reaper?.requested_at;
      return isBusy ? WAITING_MS : RESTING_MS;
    },
  });
}

async function getReaper() {
  const [reaper, stats] = await Promise.all([
    need(api.GET("/api/v1/admin/reaper")),
    need(api.GET("/api/admin/cleanup/stats")),
  ]);
  return { reaper, stats };
}

export function useAccounts() {
  return useQuery({
    queryKey: ["admin", "accounts"],
    queryFn: () =>
      everyPage("accounts", (query) =>
        need(api.GET("/api/v1/admin/accounts", { params: { query } })),
      ),
  });
}

/** Who has an account's number; null where nobody has it any more, or the list is not there. */
export function useEmails(): (accountId: number | null) => string | null {
  const accounts = useAccounts();
  const emails = useMemo(
    () => new Map(accounts.data?.map(({ id, email }) => [id, email])),
    [accounts.data],
  );
  return (accountId) => (accountId === null ? null : (emails.get(accountId) ?? null));
}

export function useInvitations() {
  return useQuery({
    queryKey: ["admin", "invitations"],
    queryFn: () =>
      everyPage("invitations", (query) =>
        need(api.GET("/api/v1/admin/invitations", { params: { query } })),
      ),
  });
}

export function useAllWorkspaces() {
  return useQuery({
    queryKey: ["admin", "workspaces"],
    queryFn: () =>
      everyPage("workspaces", (query) =>
        need(api.GET("/api/v1/admin/workspaces", { params: { query } })),
      ),
  });
}

export function useWorkspacePage(cursor: string | null) {
  return useQuery({
    queryKey: ["admin", "workspaces", "page", cursor],
    queryFn: () => {
      const query = cursor === null ? {} : { cursor };
      return need(api.GET("/api/v1/admin/workspaces", { params: { query } }));
    },
    placeholderData: keepPreviousData,
  });
}

export function useReports(state: ReportState, cursor: string | null) {
  return useQuery({
    queryKey: ["admin", "reports", state, cursor],
    queryFn: () => {
      const query = { state, limit: REPORTS_PAGE, ...(cursor === null ? {} : { cursor }) };
      return need(api.GET("/api/v1/reports", { params: { query } }));
    },
    placeholderData: keepPreviousData,
  });
}

/** How many wait for a decision. */
export function useOpenReports() {
  return useQuery({
    queryKey: ["admin", "reports", "count"],
    queryFn: async () => {
      const query = { state: "open", limit: 1 } as const;
      return (await need(api.GET("/api/v1/reports", { params: { query } }))).total;
    },
  });
}

export function useBans(cursor: string | null) {
  return useQuery({
    queryKey: ["admin", "bans", cursor],
    queryFn: () => {
      const query = cursor === null ? {} : { cursor };
      return need(api.GET("/api/v1/admin/bans", { params: { query } }));
    },
    placeholderData: keepPreviousData,
  });
}

export interface AuditFilter {
  action: string | null;
  account: number | null;
  via: AuditEntry["via"] | null;
}

export function useAudit({ action, account, via }: AuditFilter, before: number | null) {
  return useQuery({
    queryKey: ["admin", "audit", action, account, via, before],
    queryFn: () => {
      const query = {
        limit: AUDIT_PAGE,
        ...(action === null ? {} : { action }),
        ...(account === null ? {} : { account_id: account }),
        ...(via === null ? {} : { via }),
        ...(before === null ? {} : { before }),
      };
      return need(api.GET("/api/v1/admin/audit", { params: { query } }));
    },
    placeholderData: keepPreviousData,
  });
}
