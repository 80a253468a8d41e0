// uPlot in a page: it takes its colours from the style sheet, follows the width of its box and the choice of light or dark.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { exactly } from "../words.js";

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const HEIGHT = 190;
const NARROWEST = 8; // steps that are shown at least: one bar alone is no picture
const [MINUTE, HOUR, DAY] = [60, 3600, 86_400];
const decimal = (powers) => Array.from({ length: powers }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat();
/** Distances of marks on the axis of a count, and of a time in milliseconds, which has no round thousands beyond a minute. */
export const COUNTS = decimal(9);
const TIMES = [
  ...[1, 2, 5, 10, 20, 30],
  ...[1, 2, 5, 10, 20, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 4, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 3, 5, 7, 10, 15, 30, 60, 90, 120, 180, 365, 730].map((days) => days * DAY),
];
export const DURATIONS = [...decimal(3), ...TIMES.map((seconds) => seconds * 1000)];
// uPlot's own way to label times: a line for each tick, and below it the day or the year where a new one begins. Its columns: from
// which distance of ticks on, the line, what is added for a new year, month, day, hour, minute, second, and that it is added.
const label = (from, line, year = null, day = null) => [from, line, year, null, day, null, null, null, 1];
const LABELS = [
  label(365 * DAY, "{YYYY}"),
  label(28 * DAY, "{MMM}", "\n{YYYY}"),
  label(DAY, "{D} {MMM}", "\n{YYYY}"),
  label(MINUTE, "{HH}:{mm}", "\n{D} {MMM} {YYYY}", "\n{D} {MMM}"),
  label(1, "{HH}:{mm}:{ss}", "\n{D} {MMM} {YYYY}", "\n{D} {MMM}"),
];

/** `series`: {label, color (a style-sheet variable), bars, points}; `values`: times, then one list for each series; `marks`: distances
 * that marks of the left axis may have. */
export function Chart({ title, summary, remark, series, values, unit, marks, step }) {
  const box = useRef(null);
  useEffect(() => {
    let plot = null;
    const draw = () => {
      plot?.destroy();
      plot = new uPlot(options({ series, unit, marks, step }, box.current.clientWidth), values, box.current);
    };
    draw();
    const width = new ResizeObserver(([entry]) => plot.setSize({ width: entry.contentRect.width, height: HEIGHT }));
    width.observe(box.current);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", draw);
    return () => {
      width.disconnect();
      dark.removeEventListener("change", draw);
      plot.destroy();
    };
  }, [values, series, unit, marks, step]);
  return (
    <figure class="chart">
      <figcaption>
        <strong>{title}</strong> <span class="quiet">{summary}</span>
        <small>{remark}</small>
      </figcaption>
      <div ref={box} role="img" aria-label={`${title}: ${summary}. ${remark}`} />
    </figure>
  );
}

/** From the first step to the last, and some air where they are few: for a single one uPlot would show a whole day. */
function range(times, step) {
  const air = Math.max(step / 2, (NARROWEST * step - (times.at(-1) - times[0])) / 2);
  return times.length ? [times[0] - air, times.at(-1) + air] : [0, 1];
}

const LETTER = 7; // pixels, about

/** As wide as what is written there. */
const roomFor = (_plot, labels) => 22 + LETTER * Math.max(3, ...(labels || []).map((text) => text.length));

function options({ series, unit, marks, step }, width) {
  const axis = {
    stroke: css("--quiet"),
    font: "12px system-ui, sans-serif",
    grid: { stroke: css("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width,
    height: HEIGHT,
    cursor: { drag: { x: false, y: false }, y: false, points: { show: false } },
    legend: { markers: { width: 0, fill: (_plot, place) => css(series[place - 1]?.color) } },
    scales: {
      x: { range: ({ data: [times] }) => range(times, step) },
      y: { range: (_plot, _low, high) => [0, Math.max(high * 1.1, 1)] },
    },
    axes: [
      { ...axis, grid: { show: false }, space: 60, size: 44, incrs: TIMES, values: LABELS },
      { ...axis, size: roomFor, incrs: marks, values: (_plot, ticks) => ticks.map(unit) },
    ],
    series: [{ label: "From", value: (_plot, time) => (time ? exactly(time) : "–") }, ...series.map((one) => drawn(one, unit))],
  };
}

function drawn({ label, color, bars, points }, unit) {
  const stroke = css(color);
  const value = (_plot, found) => (found === null || found === undefined ? "–" : unit(found));
  if (bars) {
    return {
      label,
      value,
      stroke,
      fill: stroke,
      width: 0,
      points: { show: false },
      paths: uPlot.paths.bars({ size: [0.7, 24] }),
    };
  }
  return { label, value, stroke, width: 2, points: { show: points, size: 6, fill: stroke }, spanGaps: false };
}
