import { useMemo } from "react";
import { localeOf, useLanguage } from "../strings/language";

const BYTES = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"] as const;
const SPANS = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
] as const;

export interface Units {
  /** "12.4 GB". */
  bytes(count: number): string;
  /** The largest unit that fits: "3 days", "15 minutes", "240 ms". */
  span(seconds: number): string;
  /** "3 days ago". */
  ago(seconds: number): string;
  percent(part: number): string;
}

export function useUnits(): Units {
  const language = useLanguage();
  return useMemo(() => makeUnits(localeOf(language)), [language]);
}

function makeUnits(locale: string): Units {
  const write = (value: number, unit: string, unitDisplay: "short" | "long") =>
    new Intl.NumberFormat(locale, {
      style: "unit",
      unit,
      unitDisplay,
      maximumFractionDigits: value < 10 && unit !== "byte" ? 1 : 0,
    }).format(value);
  const before = new Intl.RelativeTimeFormat(locale);
  const percent = new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: 1 });
  return {
    bytes: (count) => {
      const power = count < 1000 ? 0 : Math.min(Math.floor(Math.log10(count) / 3), 4);
      return write(count / 1000 ** power, BYTES[power] ?? "byte", power ? "short" : "long");
    },
    span: (seconds) => {
      if (seconds > 0 && seconds < 1) return write(seconds * 1000, "millisecond", "short");
      const [unit, length] = unitFor(seconds);
      return write(seconds / length, unit, "long");
    },
    ago: (seconds) => {
      const [unit, length] = unitFor(seconds);
      return before.format(-Math.round(seconds / length), unit);
    },
    percent: (part) => percent.format(part),
  };
}

function unitFor(seconds: number) {
  return SPANS.find(([, length]) => seconds >= length) ?? SPANS[3];
}
