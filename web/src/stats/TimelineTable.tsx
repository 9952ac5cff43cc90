import { useState } from "react";
import { useTexts } from "../strings/language";
import { stats as texts } from "../strings/stats";
import { useFormats } from "../ui/format";
import type { View } from "./period";
import type { Report } from "./subject";
import styles from "./Timeline.module.css";
import { reach, useTimes } from "./times";

/** The same numbers to read; and a way to choose a time without a mouse. */
export function TimelineTable({ report, zoom }: { report: Report; zoom: View["zoom"] }) {
  const words = useTexts(texts);
  const [isOpen, setOpen] = useState(false);
  return (
    <details className={styles.numbers} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{words.asTable}</summary>
      {isOpen && <Rows report={report} zoom={zoom} />}
    </details>
  );
}

function Rows({ report, zoom }: { report: Report; zoom: View["zoom"] }) {
  const words = useTexts(texts);
  const { number } = useFormats();
  const times = useTimes(report.interval);
  const hasDays = report.interval !== "hour";
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keys
    <section className={styles.rows} tabIndex={0} aria-label={words.asTable}>
      <table>
        <thead>
          <tr>
            <th scope="col">{words.when}</th>
            <th scope="col">{words.people}</th>
            <th scope="col">{words.showbots}</th>
            {hasDays && <th scope="col">{words.visitors}</th>}
          </tr>
        </thead>
        <tbody>
          {report.series.map((point, index) => (
            <tr key={point.start}>
              <th scope="row">
                {hasDays ? (
                  <button
                    type="button"
                    onClick={() => {
                      const part = reach(report, index, index);
                      zoom(part.from, part.to);
                    }}
                  >
                    {times.name(new Date(point.start))}
                  </button>
                ) : (
                  times.name(new Date(point.start))
                )}
              </th>
              <td>{number(point.people)}</td>
              <td>{number(point.bots)}</td>
              {hasDays && <td>{number(point.daily_visitors ?? 0)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
