import { Button } from "@mantine/core";
import { Suspense, useCallback, useMemo, useState } from "react";
import { useTexts } from "../strings/language";
import { stats as texts } from "../strings/stats";
import type { Layer } from "../ui/Chart";
import { useFormats } from "../ui/format";
import { lazily } from "../ui/lazily";
import { PRESETS, SHOWN, type Shown, type View, zone } from "./period";
import { Switch } from "./Switch";
import type { Report } from "./subject";
import styles from "./Timeline.module.css";
import { TimelineTable } from "./TimelineTable";
import { reach, STEPS, useTimes } from "./times";

const Chart = lazily(() => import("../ui/Chart"));

interface Props {
  report: Report | undefined;
  view: View;
  /** Numbers of another time are on their way. */
  isBusy: boolean;
}

/** Clicks over time: a part of it is chosen by drawing over it. */
export function Timeline({ report, view, isBusy }: Props) {
  const words = useTexts(texts);
  const { period, shown } = view;
  return (
    <section className={`panel ${styles.timeline}`} aria-label={words.overTime}>
      <div className={styles.head}>
        <Switch
          label={words.range}
          options={PRESETS.map((preset) => ({ value: preset, label: words[`range${preset}`] }))}
          value={period.part === null ? period.preset : null}
          onChange={view.choose}
        />
        {period.part !== null && (
          <Button variant="default" size="compact-sm" h={36} onClick={view.zoomOut}>
            {words.zoomOut}
          </Button>
        )}
        <span className={styles.gap} />
        <Switch
          label={words.whose}
          options={SHOWN.map((it) => ({ value: it, label: words[`show${it}`] }))}
          value={shown}
          onChange={view.show}
        />
      </div>
      <div className={styles.room} aria-busy={isBusy}>
        {report && (
          <Suspense fallback={null}>
            <Plot report={report} view={view} />
          </Suspense>
        )}
      </div>
      <Foot report={report} shown={shown} />
      {report && <TimelineTable report={report} zoom={view.zoom} />}
    </section>
  );
}

function Plot({ report, view }: { report: Report; view: View }) {
  const words = useTexts(texts);
  const { compact, number } = useFormats();
  const times = useTimes(report.interval);
  const [hovered, setHovered] = useState<{ index: number; left: number } | null>(null);
  const layers = useMemo(() => layersOf(report, view.shown), [report, view.shown]);
  const starts = useMemo(() => report.series.map(({ start }) => new Date(start)), [report]);
  const tick = useCallback(
    (index: number, before: number | null) => {
      const at = starts[index];
      return at ? times.tick(at, before === null ? null : (starts[before] ?? null)) : "";
    },
    [starts, times],
  );
  const zoom = (first: number, last: number) => {
    const part = reach(report, first, last);
    view.zoom(part.from, part.to);
  };
  const hover = useCallback((index: number | null, left: number) => {
    setHovered((was) => {
      if (index === null) return null;
      return was?.index === index && was.left === left ? was : { index, left };
    });
  }, []);
  const point = hovered && report.series[hovered.index];
  return (
    <div
      className={styles.plot}
      role="img"
      aria-label={words.chart(number(report.totals.people), number(report.totals.bots))}
    >
      <Chart
        layers={layers}
        tick={tick}
        steps={STEPS[report.interval]}
        format={compact}
        onHover={hover}
        onZoom={zoom}
        onZoomOut={view.zoomOut}
      />
      {report.totals.clicks === 0 && <p className={styles.nothing}>{words.noneThen}</p>}
      {point && (
        <div
          className={styles.words}
          data-before={2 * hovered.index >= report.series.length || undefined}
          style={{ left: hovered.left }}
        >
          <b>{times.name(new Date(point.start))}</b>
          {view.shown !== "bots" && (
            <span>{words.ofPeople(number(point.people), point.people)}</span>
          )}
          {view.shown !== "people" && <span>{words.ofBots(number(point.bots), point.bots)}</span>}
        </div>
      )}
    </div>
  );
}

function layersOf(report: Report, shown: Shown): [Layer, Layer] {
  const of = (who: "people" | "bots") =>
    report.series.map((point) => (shown === "all" || shown === who ? point[who] : 0));
  return [
    { colour: "--mantine-color-accent-5", values: of("people") },
    { colour: "--kurz-field", values: of("bots") },
  ];
}

function Foot({ report, shown }: { report: Report | undefined; shown: Shown }) {
  const words = useTexts(texts);
  return (
    <div className={styles.foot}>
      {shown !== "bots" && <span className={styles.key}>{words.showpeople}</span>}
      {shown !== "people" && (
        <span className={styles.key} data-bots>
          {words.showbots}
        </span>
      )}
      <span className={styles.hint}>{words.drag}</span>
      <span className={styles.gap} />
      <span>{report && words[`by${report.interval}`]}</span>
      <span>{words.zone(zone)}</span>
    </div>
  );
}
