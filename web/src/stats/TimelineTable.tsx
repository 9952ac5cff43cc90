import { useState } from "react";
import { useTexts } from "../strings/language";
import { stats as texts } from "../strings/stats";
import { type Column, DataTable } from "../ui/DataTable";
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
  type Point = Report["series"][number];
  const nameOf = ({ start }: Point) => times.name(new Date(start));
  const choose = (point: Point) => {
    const at = report.series.indexOf(point);
    const part = reach(report, at, at);
    zoom(part.from, part.to);
  };
  const columns: Column<Point>[] = [
    {
      head: words.when,
      kind: "name",
      cell: (point) =>
        hasDays ? (
          <button type="button" onClick={() => choose(point)}>
            {nameOf(point)}
          </button>
        ) : (
          nameOf(point)
        ),
    },
    { head: words.people, kind: "number", cell: (point) => number(point.people) },
    { head: words.showbots, kind: "number", cell: (point) => number(point.bots) },
  ];
  if (hasDays) {
    columns.push({
      head: words.visitors,
      kind: "number",
      cell: (point) => number(point.daily_visitors ?? 0),
    });
  }
  return (
    <div className={styles.rows}>
      <DataTable
        scrolls={words.asTable}
        columns={columns}
        rows={report.series}
        keyOf={(point) => point.start}
      />
    </div>
  );
}
