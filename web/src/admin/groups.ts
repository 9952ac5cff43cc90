import type { Report } from "./queries";

/** Reports of one link: they are decided together. */
export interface Group {
  /** The one that stands for all of them. */
  first: Report;
  reports: Report[];
}

/** In the order of the first of each. */
export function groupByLink(reports: readonly Report[]): Group[] {
  const groups = new Map<number, Group>();
  for (const report of reports) {
    const group = groups.get(report.link_id);
    if (group) {
      group.reports.push(report);
    } else {
      groups.set(report.link_id, { first: report, reports: [report] });
    }
  }
  return [...groups.values()];
}

/** Its host, as far as it has one. */
export function hostOf(location: string): string | null {
  try {
    return new URL(location).hostname || null;
  } catch {
    return null;
  }
}
