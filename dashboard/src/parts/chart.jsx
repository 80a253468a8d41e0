// uPlot in a page: it takes its colours from the style sheet, follows the width of its box and the choice of light or dark.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { when } from "../words.js";

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const HEIGHT = 180;
const STEPS = [1, 2, 5].flatMap((digit) => Array.from({ length: 9 }, (_, power) => digit * 10 ** power)).sort((a, b) => a - b);

/** `series`: {label, color (a style-sheet variable), bars, points}; `values`: times, then one list for each series. */
export function Chart({ title, summary, series, values, unit, step }) {
  const box = useRef(null);
  useEffect(() => {
    let plot = null;
    const draw = () => {
      plot?.destroy();
      plot = new uPlot(options(series, unit, step, box.current.clientWidth), values, box.current);
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
  }, [values, series, unit, step]);
  return (
    <figure class="chart">
      <figcaption>
        <strong>{title}</strong> <span class="quiet">{summary}</span>
      </figcaption>
      <div ref={box} role="img" aria-label={`${title}: ${summary}`} />
    </figure>
  );
}

function options(series, unit, step, width) {
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
      // By the times themselves: for a single one uPlot would show a whole day.
      x: { range: ({ data: [times] }) => (times.length ? [times[0] - step / 2, times.at(-1) + step / 2] : [0, 1]) },
      y: { range: (_plot, _low, high) => [0, Math.max(high * 1.1, 1)] },
    },
    axes: [
      { ...axis, grid: { show: false }, space: 64, size: 28, values: (_plot, ticks) => ticks.map(when) },
      { ...axis, size: 60, incrs: STEPS, values: (_plot, ticks) => ticks.map(unit) },
    ],
    series: [{ label: "Time", value: (_plot, time) => (time ? when(time) : "–") }, ...series.map((one) => drawn(one, unit))],
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
