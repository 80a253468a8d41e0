// Groups executions into equal steps of time, for charts.
import { findQuantile } from "./quantile.ts";

/** What the functions below read of an execution. */
export interface TimedRow {
  /** When it began, in seconds since 1970. */
  time: number;
  status: string;
  ms?: number | null;
}

/** One entry per step in each list. */
export interface TimeBuckets {
  /** The length of a step in seconds. */
  step: number;
  times: number[];
  all: number[];
  errors: number[];
  median: (number | null)[];
  /** The 95th percentile. */
  slow: (number | null)[];
}

const [MINUTE, HOUR, DAY] = [60, 3600, 86_400] as const;
const STEPS = [
  ...[1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 7, 14, 30, 90, 365].map((days) => days * DAY),
];
const MOST = 40; // steps of one chart
const NO_ERROR = new Set(["ok", "awaiting_approval", "running", "cancelled", "interrupted"]);

export const isError = (row: TimedRow) => !NO_ERROR.has(row.status);

/** The durations in milliseconds that are known, sorted. */
export const sortDurations = (rows: TimedRow[]) =>
  rows
    .map((row) => row.ms)
    .filter((ms) => typeof ms === "number")
    .sort((a, b) => a - b);

/** The length of a step in words. */
export function describeStep(seconds: number) {
  const [size, unit] =
    seconds >= DAY ? [DAY, "day"] : seconds >= HOUR ? [HOUR, "hour"] : seconds >= MINUTE ? [MINUTE, "minute"] : [1, "second"];
  const number = seconds / size;
  return number === 1 ? `one ${unit}` : `${number} ${unit}s`;
}

/** Groups rows by time. Steps start at full hours and days of the browser's time zone. */
export function groupByTime(rows: TimedRow[]): TimeBuckets {
  const times = rows.map((row) => row.time);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const step = STEPS.find((seconds) => (last - first) / seconds <= MOST) || Math.ceil((last - first) / MOST / DAY) * DAY;
  const shift = new Date(first * 1000).getTimezoneOffset() * MINUTE;
  const begin = Math.floor((first - shift) / step) * step + shift;
  const size = Math.floor((last - begin) / step) + 1;
  const groups = Array.from({ length: size }, (): TimedRow[] => []);
  for (const row of rows) groups[Math.floor((row.time - begin) / step)]?.push(row);
  const sorted = groups.map(sortDurations);
  return {
    step,
    times: groups.map((_, place) => begin + place * step),
    all: groups.map((group) => group.length),
    errors: groups.map((group) => group.filter(isError).length),
    median: sorted.map((group) => findQuantile(group, 0.5)),
    slow: sorted.map((group) => findQuantile(group, 0.95)),
  };
}
