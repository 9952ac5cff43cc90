import { useMemo, useSyncExternalStore } from "react";
import { common } from "../strings/common";
import { localeOf, useLanguage, useTexts } from "../strings/language";

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 365 * 86_400],
  ["month", 30 * 86_400],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
];
const SOON_SECONDS = 10; // clocks differ: nothing was made "in 1 minute"

export interface Formats {
  number(value: number): string;
  /** 12 thousand is 12K. */
  compact(value: number): string;
  /** Of 1: 0.4 is 40%. */
  percent(share: number): string;
  /** "3 days ago", "in 2 hours". */
  relative(instant: Date, now: number): string;
  /** With the zone. */
  exact(instant: Date): string;
}

/** Numbers and times as the reader writes them. */
export function useFormats(): Formats {
  const language = useLanguage();
  const { justNow } = useTexts(common);
  return useMemo(() => makeFormats(localeOf(language), justNow), [language, justNow]);
}

export function makeFormats(locale: string, justNow: string): Formats {
  const number = new Intl.NumberFormat(locale);
  const compact = new Intl.NumberFormat(locale, { notation: "compact", maximumFractionDigits: 1 });
  const percent = new Intl.NumberFormat(locale, { style: "percent" });
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });
  const exact = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "long" });
  return {
    number: (value) => number.format(value),
    compact: (value) => compact.format(value),
    percent: (share) => percent.format(share),
    exact: (instant) => exact.format(instant),
    relative: (instant, now) => {
      const seconds = (instant.getTime() - now) / 1000;
      for (const [unit, length] of UNITS) {
        if (Math.abs(seconds) >= length) return relative.format(Math.round(seconds / length), unit);
      }
      return seconds > SOON_SECONDS ? relative.format(1, "minute") : justNow;
    },
  };
}

const listeners = new Set<() => void>();
let now = Date.now();
let timer: number | undefined;

function tick(): void {
  now = Date.now();
  for (const tell of listeners) tell();
}

function subscribe(tell: () => void): () => void {
  if (listeners.size === 0) {
    now = Date.now();
    timer = window.setInterval(tick, 10_000);
  }
  listeners.add(tell);
  return () => {
    listeners.delete(tell);
    if (listeners.size === 0) window.clearInterval(timer);
  };
}

/** The time, every ten seconds anew; one clock for the whole page. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

/** How long there is to `instant`: "7 h 58 min", "4 minutes", "3 days". */
export function useSpan(): (instant: Date, now: number) => string {
  const words = useTexts(common);
  return (instant, at) => {
    const minutes = Math.max(1, Math.floor((instant.getTime() - at) / 60_000));
    if (minutes < 60) return words.minutes(minutes);
    const hours = Math.floor(minutes / 60);
    if (minutes % 60 === 0 && hours < 48) return words.hours(hours);
    if (hours < 48) return words.hoursMinutes(hours, minutes % 60);
    return words.days(Math.floor(hours / 24));
  };
}
