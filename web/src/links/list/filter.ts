// The filter stands in the address, so that it can be shared, and the back button undoes it.
import { useMemo } from "react";
import { useSearchParams } from "wouter";
import { changed } from "../../ui/query";
import type { Status } from "../../ui/StatusBadge";
import type { Check, Filter, Sort } from "../queries";

export const STATUSES: readonly Status[] = ["ACTIVE", "EXPIRED", "PAUSED", "EXHAUSTED", "BANNED"];
export const CHECKS: readonly Check[] = ["ok", "broken", "unknown", "not_checked"];
export const SORTS: readonly Sort[] = [
  "-created_at",
  "created_at",
  "-redirect_count",
  "redirect_count",
  "expires_at",
  "-expires_at",
  "-updated_at",
  "updated_at",
];
/** How many days back a list may begin, by one click. */
export const SPANS = [1, 7, 30, 365] as const;

export type Change = Partial<Record<keyof Filter, string>>;

export interface FilterState {
  filter: Filter;
  isFiltered: boolean;
  /** "" takes a part away. What is typed is no step of its own for the back button. */
  change(parts: Change, isTyped?: boolean): void;
  clear(): void;
}

export function useFilter(): FilterState {
  const [query, setQuery] = useSearchParams();
  return useMemo(() => {
    const filter: Filter = {
      search: query.get("search") ?? "",
      status: oneOf(STATUSES, query.get("status")),
      tag: query.get("tag"),
      check: oneOf(CHECKS, query.get("check")),
      from: dayOf(query.get("from")),
      to: dayOf(query.get("to")),
      sort: oneOf(SORTS, query.get("sort")) ?? "-created_at",
    };
    const { sort, ...others } = filter;
    return {
      filter,
      isFiltered: Object.values(others).some(Boolean),
      change: (parts, isTyped = false) =>
        setQuery((before) => changed(before, parts), { replace: isTyped }),
      clear: () => setQuery(sort === "-created_at" ? {} : { sort }),
    };
  }, [query, setQuery]);
}

function oneOf<T extends string>(known: readonly T[], value: string | null): T | null {
  return known.find((each) => each === value) ?? null;
}

function dayOf(value: string | null): string | null {
  const isDay = value !== null && /^\d{4}-\d\d-\d\d$/.test(value);
  return isDay && !Number.isNaN(Date.parse(value)) ? value : null;
}

/** The first day of the last so many days, today included. */
export function firstDayOf(days: number): string {
  const now = new Date();
  const day = new Date(now.getFullYear(), now.getMonth(), now.getDate() - days + 1);
  const [month, date] = [day.getMonth() + 1, day.getDate()].map((n) => String(n).padStart(2, "0"));
  return `${day.getFullYear()}-${month}-${date}`;
}
