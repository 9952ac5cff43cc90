// Every page under /app for people who are signed in. A new page is a line here, its words in
// strings/app.ts, and a folder with a component; nothing else has to know of it.
import type { ComponentType, LazyExoticComponent } from "react";
import type { app } from "../strings/app";
import type { IconName } from "../ui/Icon";
import { lazily } from "../ui/lazily";

export type Group = "links" | "workspace" | "account" | "admin";

interface Reach {
  /** Every workspace has one, too, under /app/w/NUMBER; else it is everybody's own. */
  isOfSpace?: true;
  /** In a workspace only. */
  isOfWorkspace?: true;
  isForAdmins?: true;
}

export interface Page extends Reach {
  path: string;
  component: LazyExoticComponent<ComponentType>;
  /** In the navigation: under which heading, and by which word; none for a page of a single thing. */
  nav: { group: Group; label: keyof (typeof app)["en"]; icon: IconName } | undefined;
}

const NAV: Readonly<Record<string, Page["nav"]>> = {
  "/links": { group: "links", label: "links", icon: "link" },
  "/stats": { group: "links", label: "stats", icon: "chart" },
  "/trash": { group: "links", label: "trash", icon: "bin" },
  "/members": { group: "workspace", label: "members", icon: "people" },
  "/domains": { group: "workspace", label: "domains", icon: "globe" },
  "/settings": { group: "workspace", label: "settings", icon: "gear" },
  "/keys": { group: "account", label: "keys", icon: "key" },
  "/account": { group: "account", label: "account", icon: "person" },
  "/admin": { group: "admin", label: "admin", icon: "shield" },
};

const EVERY_SPACE: Reach = { isOfSpace: true };
const WORKSPACES: Reach = { isOfSpace: true, isOfWorkspace: true };
const ADMINS: Reach = { isForAdmins: true };

export const PAGES: readonly Page[] = [
  page("/links", () => import("../links/list/LinksPage"), EVERY_SPACE),
  page("/links/:id", () => import("../links/detail/LinkPage"), EVERY_SPACE),
  page("/stats", () => import("../stats/StatsPage"), EVERY_SPACE),
  page("/trash", () => import("../trash/TrashPage"), EVERY_SPACE),
  page("/import", () => import("../transfer/ImportPage"), EVERY_SPACE),
  page("/members", () => import("../workspaces/MembersPage"), WORKSPACES),
  page("/domains", () => import("../workspaces/DomainsPage"), WORKSPACES),
  page("/settings", () => import("../workspaces/WorkspacePage"), WORKSPACES),
  page("/keys", () => import("../account/KeysPage")),
  page("/account", () => import("../account/AccountPage")),
  page("/admin", () => import("../admin/SystemPage"), ADMINS),
  page("/admin/people", () => import("../admin/PeoplePage"), ADMINS),
  page("/admin/reaper", () => import("../admin/ReaperPage"), ADMINS),
  page("/admin/reports", () => import("../admin/ReportsPage"), ADMINS),
  page("/admin/audit", () => import("../admin/AuditPage"), ADMINS),
];

function page(path: string, load: Parameters<typeof lazily>[0], reach: Reach = {}): Page {
  return { path, component: lazily(load), nav: NAV[path], ...reach };
}
