import { useMemo } from "react";
import { localeOf, useLanguage } from "../strings/language";
import type { Interval, Report } from "./subject";

/** Points of a time line in the reader's words. */
export interface Times {
  /** Short, below the axis; two lines where the day has changed since `before`. */
  tick(at: Date, before: Date | null): string;
  /** In full. */
  name(at: Date): string;
}

export function useTimes(interval: Interval): Times {
  const language = useLanguage();
  return useMemo(() => makeTimes(localeOf(language), interval), [language, interval]);
}

function makeTimes(locale: string, interval: Interval): Times {
  const day = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short" });
  const hour = new Intl.DateTimeFormat(locale, { hour: "numeric", minute: "2-digit" });
  const month = new Intl.DateTimeFormat(locale, { month: "short", year: "2-digit" });
  const full = new Intl.DateTimeFormat(locale, { dateStyle: "full" });
  const fullMonth = new Intl.DateTimeFormat(locale, { month: "long", year: "numeric" });
  const fullHour = new Intl.DateTimeFormat(locale, {
    weekday: "short",
    day: "numeric",
    month: "short",
    hour: "numeric",
    minute: "2-digit",
  });
  switch (interval) {
    case "hour":
      return {
        tick: (at, before) =>
          before !== null && day.format(before) === day.format(at)
            ? hour.format(at)
            : `${hour.format(at)}\n${day.format(at)}`,
        name: (at) => fullHour.format(at),
      };
    case "month":
      return { tick: (at) => month.format(at), name: (at) => fullMonth.format(at) };
    default:
      return { tick: (at) => day.format(at), name: (at) => full.format(at) };
  }
}

/** By how many points labels may be apart. */
export const STEPS: Record<Interval, readonly number[]> = {
  hour: [1, 2, 3, 4, 6, 12, 24],
  day: [1, 2, 7, 14, 28],
  week: [1, 2, 4, 8, 13, 26],
  month: [1, 2, 3, 6, 12],
};

/** From where to where some points of a report reach. */
export function reach(report: Report, first: number, last: number): { from: Date; to: Date } {
  const startOf = (index: number) => report.series[index]?.start;
  const from = new Date(startOf(first) ?? report.from);
  const to = new Date(startOf(last + 1) ?? report.to);
  const begin = new Date(report.from);
  return { from: from < begin ? begin : from, to };
}
