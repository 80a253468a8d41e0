// How the last executions went: errors and durations, in numbers and charts.
import { useMemo } from "preact/hooks";
import type { Stats } from "../api/shapes.ts";
import { linkTo, withFilters } from "../hooks/route.ts";
import { Tile, Tiles } from "../parts/tiles.tsx";
import { formatCompact, formatCount, formatMs, formatPercent, pluralize } from "../text/format.ts";
import { Chart } from "./chart.tsx";
import { COUNTS, DURATIONS, type Series } from "./chart-options.ts";
import { findQuantile } from "./quantile.ts";
import { describeStep, groupByTime, isError, sortDurations, type TimedRow } from "./time-buckets.ts";

const RUNS: Series[] = [
  { label: "executions", color: "--bar", bars: true },
  { label: "errors", color: "--bad", bars: true },
];
const TIMES: Series[] = [
  { label: "95th percentile", color: "--quiet", points: true },
  { label: "median", color: "--accent", points: true },
];

const linkToExecutions = ({ status = "", since }: { status?: string | undefined; since: number }) =>
  withFilters(linkTo("executions"), { ...(status ? { status } : {}), since: String(since) });

interface TrendProps {
  /** At least one execution that has ended, the newest first. */
  ended: (TimedRow & { id: string })[];
  stats: Stats | null | undefined;
  /** Since when, in seconds since 1970, and the same in words. */
  since: number;
  words: string;
  /** Whether there are more than these. */
  isCut: boolean;
}

export function Trend({ ended, stats, since, words, isCut }: TrendProps) {
  const found = useMemo(() => groupByTime(ended), [`${ended.length} ${ended[0]?.id}`]);
  const counts = useMemo(() => [found.times, found.all, found.errors] as [number[], number[], number[]], [found]);
  const times = useMemo(
    () => [found.times, found.slow, found.median] as [number[], (number | null)[], (number | null)[]],
    [found],
  );
  const sorted = sortDurations(ended);
  const errors = ended.filter(isError).length;
  const statuses = [...new Set(ended.filter(isError).map((row) => row.status))];
  const [median, slow] = [findQuantile(sorted, 0.5), findQuantile(sorted, 0.95)];
  const step = describeStep(found.step);
  return (
    <section aria-labelledby="trend">
      <h2 id="trend">
        {isCut ? `The last ${pluralize(ended.length, "execution")}` : `${pluralize(ended.length, "execution")} in ${words}`}
      </h2>
      <Tiles>
        <Tile
          label="Errors"
          value={formatPercent(errors, ended.length)}
          note={`${formatCount(errors)} of ${formatCount(ended.length)}`}
          tone={errors ? "bad" : ""}
          href={linkToExecutions({ status: statuses.length === 1 ? statuses[0] : "", since })}
        />
        <Tile label="Executions" value={formatCount(ended.length)} href={linkToExecutions({ since })} />
        <Tile
          label="Median time"
          value={formatMs(median)}
          note={`95th percentile ${formatMs(slow)}`}
          href={linkToExecutions({ since })}
        />
        {stats && (
          <Tile
            label="Calls on record"
            value={formatCompact(stats.tokens.calls)}
            note={`${formatCount(stats.tokens.searches)} × searched`}
            href={withFilters(linkTo("audit"), { kind: "call" })}
          />
        )}
      </Tiles>
      <div class="charts">
        <Chart
          title="Executions"
          summary={`${formatCount(ended.length)}, ${pluralize(errors, "error")}`}
          remark={`One bar is ${step}.`}
          series={RUNS}
          values={counts}
          unit={formatCompact}
          marks={COUNTS}
          step={found.step}
        />
        <Chart
          title="Time"
          summary={`median ${formatMs(median)}, 95th percentile ${formatMs(slow)}`}
          remark={`One point is ${step}.`}
          series={TIMES}
          values={times}
          unit={formatMs}
          marks={DURATIONS}
          step={found.step}
        />
      </div>
    </section>
  );
}
