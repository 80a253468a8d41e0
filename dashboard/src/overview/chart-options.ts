// The options of uPlot for our charts.
import uPlot from "uplot";
import { formatExactTime } from "../text/format.ts";

export const HEIGHT = 190;
const FEWEST = 8; // steps that the time axis shows at least: a single bar would fill the chart
const [MINUTE, HOUR, DAY] = [60, 3600, 86_400];
const listDecimals = (powers: number) =>
  Array.from({ length: powers }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat();

/** Distances of the marks on an axis of counts. */
export const COUNTS = listDecimals(9);
const TIMES = [
  ...[1, 2, 5, 10, 20, 30],
  ...[1, 2, 5, 10, 20, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 4, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 3, 5, 7, 10, 15, 30, 60, 90, 120, 180, 365, 730].map((days) => days * DAY),
];
/** Distances of the marks on an axis of durations in milliseconds. */
export const DURATIONS = [...listDecimals(3), ...TIMES.map((seconds) => seconds * 1000)];

// How uPlot labels times: the smallest distance of marks that a row is for, its label, and what is added below the label where a
// new year, month, day, hour, minute or second begins. The 1 says that it is added to the label.
const makeLabel = (from: number, label: string, year: string | null = null, day: string | null = null) => [
  from,
  label,
  year,
  null,
  day,
  null,
  null,
  null,
  1,
];
const LABELS = [
  makeLabel(365 * DAY, "{YYYY}"),
  makeLabel(28 * DAY, "{MMM}", "\n{YYYY}"),
  makeLabel(DAY, "{D} {MMM}", "\n{YYYY}"),
  makeLabel(MINUTE, "{HH}:{mm}", "\n{D} {MMM} {YYYY}", "\n{D} {MMM}"),
  makeLabel(1, "{HH}:{mm}:{ss}", "\n{D} {MMM} {YYYY}", "\n{D} {MMM}"),
];

export interface Series {
  label: string;
  /** A variable of the style sheet. */
  color: string;
  bars?: boolean;
  points?: boolean;
}

export interface ChartScale {
  series: Series[];
  /** Writes a value of the left axis. */
  unit: (value: number | null) => string;
  /** Distances that marks of the left axis may have. */
  marks: number[];
  /** The length of a step in seconds. */
  step: number;
}

const readColor = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The time axis has some space on both sides. For a single step, uPlot would show a whole day. */
function findRange(times: ArrayLike<number>, step: number): [number, number] {
  const [first, last] = [times[0], times[times.length - 1]];
  if (first === undefined || last === undefined) return [0, 1];
  const space = Math.max(step / 2, (FEWEST * step - (last - first)) / 2);
  return [first - space, last + space];
}

const LETTER = 7; // pixels, about

/** The left axis is as wide as its labels. */
const measureLabels = (_plot: uPlot, labels: string[] | null) =>
  22 + LETTER * Math.max(3, ...(labels || []).map((text) => text.length));

export function makeOptions({ series, unit, marks, step }: ChartScale, width: number): uPlot.Options {
  const axis: uPlot.Axis = {
    stroke: readColor("--quiet"),
    font: "12px system-ui, sans-serif",
    grid: { stroke: readColor("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width,
    height: HEIGHT,
    cursor: { drag: { x: false, y: false }, y: false, points: { show: false } },
    legend: { markers: { width: 0, fill: (_plot, place) => readColor(series[place - 1]?.color ?? "") } },
    scales: {
      x: { range: ({ data: [times] }) => findRange(times, step) },
      y: { range: (_plot, _low, high) => [0, Math.max(high * 1.1, 1)] },
    },
    axes: [
      { ...axis, grid: { show: false }, space: 60, size: 44, incrs: TIMES, values: LABELS },
      { ...axis, size: measureLabels, incrs: marks, values: (_plot, ticks) => ticks.map(unit) },
    ],
    series: [
      { label: "From", value: (_plot, time) => (time ? formatExactTime(time) : "–") },
      ...series.map((one) => makeSeries(one, unit)),
    ],
  };
}

function makeSeries({ label, color, bars, points }: Series, unit: ChartScale["unit"]): uPlot.Series {
  const stroke = readColor(color);
  const value = (_plot: uPlot, found: number | null) => (found === null || found === undefined ? "–" : unit(found));
  if (bars) {
    return {
      label,
      value,
      stroke,
      fill: stroke,
      width: 0,
      points: { show: false },
      paths: uPlot.paths.bars?.({ size: [0.7, 24] }),
    };
  }
  return { label, value, stroke, width: 2, points: { show: points, size: 6, fill: stroke }, spanGaps: false };
}
