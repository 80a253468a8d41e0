// A chart by uPlot. It takes its colors from the style sheet, and follows the width of its box and the light or dark mode.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { type ChartScale, HEIGHT, makeOptions } from "./chart-options.ts";

interface ChartProps extends ChartScale {
  title: string;
  summary: string;
  remark: string;
  /** The times, then one list for each series. */
  values: uPlot.AlignedData;
}

export function Chart({ title, summary, remark, series, values, unit, marks, step }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const place = box.current;
    if (!place) return undefined;
    let plot: uPlot | undefined;
    const draw = () => {
      plot?.destroy();
      plot = new uPlot(makeOptions({ series, unit, marks, step }, place.clientWidth), values, place);
    };
    draw();
    const resize = new ResizeObserver(([entry]) => {
      if (entry) plot?.setSize({ width: entry.contentRect.width, height: HEIGHT });
    });
    resize.observe(place);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", draw);
    return () => {
      resize.disconnect();
      dark.removeEventListener("change", draw);
      plot?.destroy();
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
