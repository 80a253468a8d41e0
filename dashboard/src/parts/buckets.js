// Executions over time, in equal steps, for charts.

export function quantile(sorted, part) {
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] : null;
}

const [MINUTE, HOUR, DAY] = [60, 3600, 86_400];
const STEPS = [
  ...[1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 7, 14, 30, 90, 365].map((days) => days * DAY),
];
const MOST = 40;
const FINE = new Set(["ok", "awaiting_approval", "running", "cancelled", "interrupted"]);

export const isError = (row) => !FINE.has(row.status);

/** A step as one says it. */
export function stepped(seconds) {
  const [size, unit] = [
    [DAY, "day"],
    [HOUR, "hour"],
    [MINUTE, "minute"],
    [1, "second"],
  ].find(([size]) => seconds >= size);
  const number = seconds / size;
  return number === 1 ? `one ${unit}` : `${number} ${unit}s`;
}

/** Per step: how many, how many errors, median and 95th percentile of their time. Steps begin with the reader's hours and days. */
export function buckets(rows) {
  const times = rows.map((row) => row.time);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const step = STEPS.find((seconds) => (last - first) / seconds <= MOST) || Math.ceil((last - first) / MOST / DAY) * DAY;
  const shift = new Date(first * 1000).getTimezoneOffset() * MINUTE;
  const begin = Math.floor((first - shift) / step) * step + shift;
  const size = Math.floor((last - begin) / step) + 1;
  const found = Array.from({ length: size }, () => []);
  for (const row of rows) found[Math.floor((row.time - begin) / step)].push(row);
  const sorted = found.map((group) =>
    group
      .map((row) => row.ms)
      .filter((one) => typeof one === "number")
      .sort((a, b) => a - b),
  );
  return {
    step,
    times: found.map((_, place) => begin + place * step),
    all: found.map((group) => group.length),
    errors: found.map((group) => group.filter(isError).length),
    median: sorted.map((group) => quantile(group, 0.5)),
    slow: sorted.map((group) => quantile(group, 0.95)),
  };
}
