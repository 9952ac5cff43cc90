// Which time is looked at, and whose clicks. It stands in the address: it can be shared, and the back
// button undoes it.
import { useMemo } from "react";
import { useSearchParams } from "wouter";
import { changed } from "../ui/query";
import type { Question } from "./subject";

export const PRESETS = ["24h", "7d", "30d", "all"] as const;
export type Preset = (typeof PRESETS)[number];
export const SHOWN = ["all", "people", "bots"] as const;
export type Shown = (typeof SHOWN)[number];

export interface Period {
  preset: Preset;
  /** A part of it that was chosen in the time line. */
  part: { from: Date; to: Date } | null;
}

export interface View {
  period: Period;
  shown: Shown;
  choose(preset: Preset): void;
  zoom(from: Date, to: Date): void;
  zoomOut(): void;
  show(shown: Shown): void;
}

export const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
export const MOST_DAYS = 1829; // the API tells of 1830 at a time
const DAYS_OF_HOURS = 3; // in which hours can be told apart
const TOP = 20;

export const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

export function useView(): View {
  const [query, setQuery] = useSearchParams();
  return useMemo(() => {
    const change = (parts: Record<string, string | null>) =>
      setQuery((before) => changed(before, parts));
    return {
      period: {
        preset: PRESETS.find((preset) => preset === query.get("range")) ?? "30d",
        part: partOf(query.get("from"), query.get("to")),
      },
      shown: SHOWN.find((shown) => shown === query.get("show")) ?? "all",
      choose: (preset) => change({ range: preset === "30d" ? null : preset, from: null, to: null }),
      zoom: (from, to) => change({ from: from.toISOString(), to: to.toISOString() }),
      zoomOut: () => change({ from: null, to: null }),
      show: (shown) => change({ show: shown === "all" ? null : shown }),
    };
  }, [query, setQuery]);
}

function partOf(from: string | null, to: string | null): Period["part"] {
  const part = { from: new Date(from ?? Number.NaN), to: new Date(to ?? Number.NaN) };
  return part.from < part.to ? part : null; // no date is before no other
}

/** As the API wants to be asked; the same for a whole hour. Null: it is not known yet when all began. */
export function questionOf(period: Period, now: number, beginsAt: string | null): Question | null {
  const common = { zone, top: TOP, compare: period.preset !== "all" || period.part !== null };
  if (period.part !== null) {
    const { from, to } = period.part;
    return { ...common, from: from.toISOString(), to: to.toISOString(), ...intervalOf(from, to) };
  }
  const hour = Math.floor(now / HOUR_MS) * HOUR_MS;
  switch (period.preset) {
    case "24h":
      return {
        ...common,
        from: new Date(hour - 23 * HOUR_MS).toISOString(),
        interval: "hour",
      };
    case "7d":
      return { ...common, from: dayBefore(hour, 6), interval: "day" };
    case "30d":
      return { ...common, from: dayBefore(hour, 29), interval: "day" };
    case "all": {
      if (beginsAt === null) return null;
      const from = Math.max(Date.parse(beginsAt), hour - MOST_DAYS * DAY_MS);
      return {
        ...common,
        from: dayBefore(from, 0),
        ...intervalOf(new Date(from), new Date(hour)),
      };
    }
  }
}

/** Hours, as long as they can be told apart; else the server chooses. */
function intervalOf(from: Date, to: Date): { interval?: "hour" } {
  const days = (to.getTime() - from.getTime()) / DAY_MS;
  return days <= DAYS_OF_HOURS ? { interval: "hour" } : {};
}

/** The reader's own day, so many before. */
function dayBefore(instant: number, days: number): string {
  const day = new Date(instant);
  day.setDate(day.getDate() - days);
  const parts = [day.getMonth() + 1, day.getDate()].map((part) => String(part).padStart(2, "0"));
  return [day.getFullYear(), ...parts].join("-");
}
