import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import styles from "./Chart.module.css";

const TICK_PX = 76; // what a label below the axis needs
const SHORTEST_DRAG_PX = 6;
const WHOLE_NUMBERS = [1, 2, 5].map((first) =>
  Array.from({ length: 10 }, (_, power) => first * 10 ** power),
);

export interface Props {
  /** Bars of two layers, from below; the colours are CSS variables. */
  layers: readonly [Layer, Layer];
  /** The label below a bar; `before` is the previous label, if any. */
  tick: (index: number, before: number | null) => string;
  /** By how many bars labels may be apart: 1, 7, 14 for days. */
  steps: readonly number[];
  format: (value: number) => string;
  /** `left`: in pixels, of the bar's middle. */
  onHover: (index: number | null, left: number) => void;
  onZoom: (first: number, last: number) => void;
  onZoomOut: () => void;
}

export interface Layer {
  colour: `--${string}`;
  values: readonly number[];
}

/** Bars over time, drawn by uPlot; fills what it stands in. Loaded with `lazily(() => import("./Chart"))`.
 * Those who do not see it need the same numbers beside it. */
export default function Chart(props: Props) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    const box = host.current;
    if (box === null) return;
    const made = new uPlot(makeOptions(box, latest), dataOf(latest.current), box);
    plot.current = made;
    const sizes = new ResizeObserver(() =>
      made.setSize({ width: box.clientWidth, height: box.clientHeight }),
    );
    sizes.observe(box);
    // Bars keep their colour with their shape: both are made anew.
    const colours = new MutationObserver(() => made.redraw());
    colours.observe(document.documentElement, {
      attributeFilter: ["data-mantine-color-scheme"],
    });
    return () => {
      colours.disconnect();
      sizes.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: words of another language are drawn, too
  useEffect(() => plot.current?.setData(dataOf(latest.current)), [props.layers, props.tick]);
  return <div ref={host} className={styles.chart} />;
}

/** Where bars stand, whole bars, and the lower layer, which is drawn over them. */
function dataOf({ layers: [lower, upper] }: Props): uPlot.AlignedData {
  const whole = lower.values.map((value, index) => value + (upper.values[index] ?? 0));
  return [whole.map((_, index) => index), whole, [...lower.values]];
}

function colourOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

type Latest = { readonly current: Props };

function makeOptions(box: HTMLElement, latest: Latest): uPlot.Options {
  const bars = uPlot.paths.bars?.({ size: [0.74, 48, 1] });
  const layer = (number: 0 | 1): uPlot.Series => ({
    fill: () => colourOf(latest.current.layers[number].colour),
    width: 0,
    points: { show: false },
    ...(bars ? { paths: bars } : {}),
  });
  return {
    width: box.clientWidth,
    height: box.clientHeight,
    padding: [12, 20, 0, 0],
    legend: { show: false },
    scales: {
      x: { time: false, range: (plot) => [-0.5, Math.max(plot.data[0].length, 1) - 0.5] },
      y: { range: (_, __, most) => [0, Math.max(most ?? 0, 3) * 1.06] },
    },
    series: [{}, layer(1), layer(0)],
    axes: makeAxes(latest),
    cursor: {
      y: false,
      points: { show: false },
      drag: { x: true, y: false, setScale: false, dist: SHORTEST_DRAG_PX },
      bind: {
        dblclick: () => () => {
          latest.current.onZoomOut();
          return null;
        },
      },
    },
    hooks: {
      setCursor: [(plot) => tellHover(plot, latest.current)],
      setSelect: [(plot) => tellZoom(plot, latest.current)],
    },
  };
}

function makeAxes(latest: Latest): uPlot.Axis[] {
  const words = {
    stroke: () => colourOf("--mantine-color-dimmed"),
    font: "12px system-ui, sans-serif",
    ticks: { show: false },
  };
  return [
    {
      ...words,
      size: (_, labels) => (labels?.some((label) => label.includes("\n")) ? 40 : 26),
      gap: 6,
      grid: { show: false },
      splits: (plot) => {
        const width = plot.bbox.width / devicePixelRatio;
        return chooseTicks(plot.data[0].length, width, latest.current.steps);
      },
      values: (_, ticks) =>
        ticks.map((index, number) => latest.current.tick(index, ticks[number - 1] ?? null)),
    },
    {
      ...words,
      size: 44,
      gap: 6,
      space: 44,
      incrs: WHOLE_NUMBERS.flat().sort((one, other) => one - other),
      grid: { stroke: () => colourOf("--kurz-line"), width: 1 },
      values: (_, ticks) => ticks.map((value) => latest.current.format(value)),
    },
  ];
}

/** As many bars as have room for their label. */
function chooseTicks(count: number, width: number, steps: readonly number[]): number[] {
  const room = Math.max(2, Math.floor(width / TICK_PX));
  const step = steps.find((it) => count / it <= room) ?? Math.ceil(count / room);
  const found: number[] = [];
  for (let index = 0; index < count; index += step) found.push(index);
  return found;
}

function tellHover(plot: uPlot, { onHover }: Props): void {
  const index = plot.cursor.idx ?? null;
  if (index === null || (plot.cursor.left ?? -1) < 0) onHover(null, 0);
  else onHover(index, plot.over.offsetLeft + plot.valToPos(index, "x"));
}

function tellZoom(plot: uPlot, { onZoom }: Props): void {
  const { left, width } = plot.select;
  if (width < SHORTEST_DRAG_PX) return;
  const last = plot.data[0].length - 1;
  const at = (pixel: number) => Math.min(last, Math.max(0, Math.round(plot.posToVal(pixel, "x"))));
  const chosen: [number, number] = [at(left), at(left + width)];
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  onZoom(...chosen);
}
