// Every page under /app for people who are signed in. A new page is a line here, its words in
// strings/app.ts, and a folder with a component; nothing else has to know of it.
import type { ComponentType, LazyExoticComponent } from "react";
import type { app } from "../strings/app";
import type { IconName } from "../ui/Icon";
import { lazily } from "../ui/lazily";

type Component = LazyExoticComponent<ComponentType>;

export interface Page {
  path: string;
  component: Component;
  /** In the navigation: under which heading, and by which word; none for a page of a single thing. */
  nav?: { group: Group; label: keyof (typeof app)["en"]; icon: IconName };
  /** Every workspace has one, too, under /app/w/NUMBER; else it is everybody's own. */
  isOfPlace?: true;
  /** In a workspace only. */
  isOfWorkspace?: true;
  isForAdmins?: true;
}

export type Group = "links" | "workspace" | "account" | "admin";

export const PAGES: readonly Page[] = [
  {
    path: "/links",
    component: lazily(() => import("../links/LinksPage")),
    nav: { group: "links", label: "links", icon: "link" },
    isOfPlace: true,
  },
  {
    path: "/links/:id",
    component: lazily(() => import("../link/LinkPage")),
    isOfPlace: true,
  },
  {
    path: "/stats",
    component: lazily(() => import("../stats/StatsPage")),
    nav: { group: "links", label: "stats", icon: "chart" },
    isOfPlace: true,
  },
  {
    path: "/trash",
    component: lazily(() => import("../trash/TrashPage")),
    nav: { group: "links", label: "trash", icon: "bin" },
    isOfPlace: true,
  },
  {
    path: "/import",
    component: lazily(() => import("../transfer/ImportPage")),
    isOfPlace: true,
  },
  {
    path: "/members",
    component: lazily(() => import("../workspaces/MembersPage")),
    nav: { group: "workspace", label: "members", icon: "people" },
    isOfPlace: true,
    isOfWorkspace: true,
  },
  {
    path: "/domains",
    component: lazily(() => import("../workspaces/DomainsPage")),
    nav: { group: "workspace", label: "domains", icon: "globe" },
    isOfPlace: true,
    isOfWorkspace: true,
  },
  {
    path: "/settings",
    component: lazily(() => import("../workspaces/WorkspacePage")),
    nav: { group: "workspace", label: "settings", icon: "gear" },
    isOfPlace: true,
    isOfWorkspace: true,
  },
  {
    path: "/keys",
    component: lazily(() => import("../account/KeysPage")),
    nav: { group: "account", label: "keys", icon: "key" },
  },
  {
    path: "/account",
    component: lazily(() => import("../account/AccountPage")),
    nav: { group: "account", label: "account", icon: "person" },
  },
  {
    path: "/admin",
    component: lazily(() => import("../admin/SystemPage")),
    nav: { group: "admin", label: "admin", icon: "shield" },
    isForAdmins: true,
  },
  {
    path: "/admin/people",
    component: lazily(() => import("../admin/PeoplePage")),
    isForAdmins: true,
  },
  {
    path: "/admin/reaper",
    component: lazily(() => import("../admin/ReaperPage")),
    isForAdmins: true,
  },
  {
    path: "/admin/reports",
    component: lazily(() => import("../admin/ReportsPage")),
    isForAdmins: true,
  },
  {
    path: "/admin/audit",
    component: lazily(() => import("../admin/AuditPage")),
    isForAdmins: true,
  },
];
