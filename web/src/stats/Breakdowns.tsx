import { useState } from "react";
import type { Schemas } from "../api/client";
import { localeOf, useLanguage, useTexts } from "../strings/language";
import { stats as texts } from "../strings/stats";
import { useFormats } from "../ui/format";
import styles from "./Breakdowns.module.css";
import { Count } from "./Count";
import { useNames } from "./names";
import { DAY_MS, type Shown } from "./period";
import type { Report } from "./subject";

const FEW = 6; // as many as one takes in at once

type Breakdown = Schemas["BreakdownRead"];

/** Where clicks came from, and with what. Of people; or which bots there were. */
export function Breakdowns({ report, shown }: { report: Report; shown: Shown }) {
  const words = useTexts(texts);
  const names = useNames();
  const { breakdowns } = report;
  if (shown === "bots") {
    const isBot = ({ value }: { value: string }) => value !== "person" && value !== "private";
    const kinds = { values: breakdowns.kinds.values.filter(isBot), other: 0, unknown: 0 };
    return (
      <>
        <WholeMonths report={report} />
        <div className={styles.columns} data-two>
          <Bars title={words.botNames} of={breakdowns.bots} />
          <Bars title={words.kinds} of={kinds} name={names.sort} />
        </div>
      </>
    );
  }
  return (
    <>
      <WholeMonths report={report} />
      <div className={styles.columns}>
        <Bars title={words.countries} of={breakdowns.countries} name={names.country} />
        <Bars title={words.referrers} of={breakdowns.referrers} unknown={words.direct} />
        <Bars title={words.devices} of={breakdowns.devices} name={names.device} />
        <Bars title={words.browsers} of={breakdowns.browsers} />
        <Bars title={words.systems} of={breakdowns.systems} />
        <Bars title={words.languages} of={breakdowns.languages} name={names.language} />
      </div>
    </>
  );
}

/** Said if they cover more than the period: older ones are stored by month. */
function WholeMonths({ report }: { report: Report }) {
  const words = useTexts(texts);
  const locale = localeOf(useLanguage());
  const first = new Date(report.breakdowns.first_day);
  const last = new Date(report.breakdowns.last_day);
  // Their days are of UTC, so they may begin up to a day earlier than a period of days.
  const isWider =
    first.getTime() < Date.parse(report.from) - DAY_MS || last.getTime() > Date.parse(report.to);
  if (!isWider) return null;
  const format = new Intl.DateTimeFormat(locale, { dateStyle: "long", timeZone: "UTC" });
  return (
    <p className={styles.note}>{words.wholeMonths(format.format(first), format.format(last))}</p>
  );
}

interface BarsProps {
  title: string;
  of: Breakdown;
  name?: (value: string) => string;
  unknown?: string;
}

/** The largest first; what is not known and all others at the end. */
export function Bars({ title, of, name = (value) => value, unknown }: BarsProps) {
  const words = useTexts(texts);
  const [isWhole, setWhole] = useState(false);
  const sum = of.values.reduce((all, { clicks }) => all + clicks, of.other + of.unknown);
  const isLong = of.values.length > FEW + 2;
  const named = isLong && !isWhole ? of.values.slice(0, FEW) : of.values;
  const other = of.values.slice(named.length).reduce((all, it) => all + it.clicks, of.other);
  const rows = [
    ...named.map(({ value, clicks }) => ({ key: value, label: name(value), clicks })),
    ...(other > 0 ? [{ key: " other", label: words.others, clicks: other }] : []),
    ...(of.unknown > 0
      ? [{ key: " unknown", label: unknown ?? words.unknown, clicks: of.unknown }]
      : []),
  ];
  return (
    <section className={`panel ${styles.bars}`}>
      <h2>{title}</h2>
      {rows.length === 0 && <p className={styles.none}>{words.nothingKnown}</p>}
      <ul>
        {rows.map(({ key, label, clicks }) => (
          <Bar key={key} label={label} clicks={clicks} sum={sum} isDim={key.startsWith(" ")} />
        ))}
      </ul>
      {isLong && (
        <button
          type="button"
          className={styles.more}
          aria-expanded={isWhole}
          onClick={() => setWhole(!isWhole)}
        >
          {isWhole ? words.fewer : words.allOf(of.values.length)}
        </button>
      )}
    </section>
  );
}

function Bar(props: { label: string; clicks: number; sum: number; isDim: boolean }) {
  const { percent } = useFormats();
  const share = props.clicks / props.sum;
  return (
    <li className={styles.bar} data-dim={props.isDim || undefined}>
      <span className={styles.fill} style={{ width: `${100 * share}%` }} />
      <span className={`truncate ${styles.label}`} title={props.label}>
        {props.label}
      </span>
      <span className={styles.share}>
        {share > 0 && share < 0.01 ? `< ${percent(0.01)}` : percent(share)}
      </span>
      <span className={styles.clicks}>
        <Count value={props.clicks} />
      </span>
    </li>
  );
}
