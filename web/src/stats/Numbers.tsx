import type { ReactNode } from "react";
import { useTexts } from "../strings/language";
import { stats as texts } from "../strings/stats";
import { useFormats } from "../ui/format";
import { Count } from "./Count";
import { LiveDot } from "./LiveDot";
import type { Live } from "./live";
import styles from "./Numbers.module.css";
import type { Report } from "./subject";

/** The four that matter. Their room is there before they are. */
export function Numbers({ report, live }: { report: Report | undefined; live: Live }) {
  const { now, state } = live;
  const words = useTexts(texts);
  const { number } = useFormats();
  const totals = report?.totals;
  return (
    <dl className={`panel ${styles.numbers}`} aria-busy={report === undefined}>
      <Tile label={words.clicks} note={report && <Change report={report} />}>
        {totals && <Count value={totals.clicks} />}
      </Tile>
      <Tile
        label={words.people}
        note={totals && (totals.bots ? words.andBots(number(totals.bots)) : words.noBots)}
      >
        {totals && <Count value={totals.people} />}
      </Tile>
      <Tile
        label={words.visitorsToday}
        mark={<LiveDot state={state} />}
        note={now && words.clicksToday(number(now.today.clicks), now.today.clicks)}
        hint={words.visitorsHint}
      >
        {now && <Count value={now.today.daily_visitors} />}
      </Tile>
      <Latency report={report} />
    </dl>
  );
}

function Latency({ report }: { report: Report | undefined }) {
  const words = useTexts(texts);
  const { number } = useFormats();
  const ms = (value: number) => number(Number(value.toPrecision(value < 100 ? 2 : 3)));
  const { mean_ms: mean, deviation_ms: deviation } = report?.all_time ?? {};
  const note = typeof deviation === "number" && words.deviation(`± ${ms(deviation)}`);
  return (
    <Tile label={words.latency} note={note} hint={words.latencyHint}>
      {typeof mean === "number" && (
        <>
          {ms(mean)} <small>ms</small>
        </>
      )}
    </Tile>
  );
}

/** Against as much time before. */
function Change({ report }: { report: Report }) {
  const words = useTexts(texts);
  const { number, percent } = useFormats();
  const all = words.inAll(number(report.all_time.clicks));
  const before = report.previous?.clicks;
  if (!before) return all;
  const change = Math.round((100 * (report.totals.clicks - before)) / before);
  const sign = change > 0 ? "+" : change < 0 ? "−" : "±";
  return (
    <>
      <b title={words.before(number(before))}>{sign + percent(Math.abs(change) / 100)}</b> · {all}
    </>
  );
}

interface TileProps {
  label: string;
  mark?: ReactNode;
  note?: ReactNode;
  hint?: string;
  children?: ReactNode;
}

function Tile(props: TileProps) {
  return (
    <div className={styles.tile} title={props.hint}>
      <dt>
        {props.label}
        {props.mark}
      </dt>
      <dd>
        <span className={`truncate ${styles.value}`}>{props.children || "–"}</span>
        <span className={styles.note}>{props.note}</span>
      </dd>
    </div>
  );
}
