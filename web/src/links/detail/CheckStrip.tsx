import { type KeyboardEvent, useState } from "react";
import { localeOf, useLanguage, useTexts } from "../../strings/language";
import { link as texts } from "../../strings/link";
import { useFormats, useNow } from "../../ui/format";
import styles from "./Checks.module.css";
import type { Checks } from "./queries";

type Check = Checks["checks"][number];

const DAYS = 30;

/** A dot for each of the last days: its worst check. Words come with the pointer, or with the arrow
 * keys: all dots are one part of the page, so that nobody has to pass thirty. */
export function CheckStrip({ checks }: { checks: readonly Check[] }) {
  const words = useTexts(texts);
  const days = useDays(checks);
  const checked = days.flatMap(({ found }, index) => (found.length > 0 ? [index] : []));
  const [chosen, setChosen] = useState<number | null>(null);
  if (checks.length === 0) return null;
  const at = chosen ?? checked.at(-1) ?? DAYS - 1;
  const day = days[at];
  const step = (event: KeyboardEvent) => {
    const next = STEPS[event.key]?.(checked, at);
    if (next === undefined) return;
    event.preventDefault();
    setChosen(next);
  };
  return (
    <>
      <div
        className={styles.strip}
        role="slider"
        tabIndex={0}
        aria-label={words.strip}
        aria-valuemin={1}
        aria-valuemax={DAYS}
        aria-valuenow={at + 1}
        aria-valuetext={day && `${day.name}: ${words[`dot_${worst(day.found)}`]}`}
        onKeyDown={step}
        onPointerLeave={() => setChosen(null)}
      >
        {days.map(({ name, found }, index) => (
          <span
            key={name}
            title={found.length > 0 ? undefined : `${name}: ${words.dot_not_checked}`}
            data-chosen={(chosen !== null && index === at) || undefined}
            onPointerEnter={() => setChosen(found.length > 0 ? index : null)}
          >
            <i className={styles.dot} data-result={found.length > 0 ? worst(found) : undefined} />
          </span>
        ))}
      </div>
      <div className={styles.ends}>
        <span>{days[0]?.name}</span>
        <span>{words.today}</span>
      </div>
      <ul className={styles.words}>
        {(day?.found ?? []).slice(0, 3).map((check) => (
          <Words key={check.checked_at} check={check} />
        ))}
      </ul>
    </>
  );
}

/** Where a key leads from `at`, among the days with checks. */
const STEPS: Record<string, (checked: readonly number[], at: number) => number | undefined> = {
  ArrowLeft: (checked, at) => checked.findLast((index) => index < at),
  ArrowDown: (checked, at) => checked.findLast((index) => index < at),
  ArrowRight: (checked, at) => checked.find((index) => index > at),
  ArrowUp: (checked, at) => checked.find((index) => index > at),
  Home: (checked) => checked[0],
  End: (checked) => checked.at(-1),
};

interface Day {
  name: string;
  found: readonly Check[];
}

/** The reader's own, up to today. */
function useDays(checks: readonly Check[]): Day[] {
  const locale = localeOf(useLanguage());
  const now = useNow();
  const byDay = groupByDay(checks);
  const format = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short" });
  return Array.from({ length: DAYS }, (_, index) => {
    const day = new Date(now);
    day.setDate(day.getDate() - (DAYS - 1 - index));
    return { name: format.format(day), found: byDay.get(day.toDateString()) ?? [] };
  });
}

function Words({ check }: { check: Check }) {
  const words = useTexts(texts);
  const { exact } = useFormats();
  const isAnswer = check.reason === "answered" && check.http_status !== null;
  return (
    <li>
      <time dateTime={check.checked_at}>{exact(new Date(check.checked_at))}</time>{" "}
      {isAnswer ? words.answered(check.http_status ?? 0) : words[`reason_${check.reason}`]}
    </li>
  );
}

function groupByDay(checks: readonly Check[]): Map<string, Check[]> {
  const days = new Map<string, Check[]>();
  for (const check of checks) {
    const day = new Date(check.checked_at).toDateString();
    days.set(day, [...(days.get(day) ?? []), check]);
  }
  return days;
}

const ORDER = ["broken", "unknown", "not_checked", "ok"] as const;

function worst(checks: readonly Check[]): Check["result"] {
  return ORDER.find((result) => checks.some((check) => check.result === result)) ?? "ok";
}
