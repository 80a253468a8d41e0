// Executions over time, in equal steps, for charts.

export function quantile(sorted, part) {
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] : null;
}

const STEPS = [1, 5, 15, 60, 300, 900, 3600, 21_600, 86_400];
const MOST = 48;
const FINE = new Set(["ok", "awaiting_approval", "running", "cancelled"]);

export const isError = (row) => !FINE.has(row.status);

/** Per step: how many, how many errors, median and 95th percentile of their time. */
export function buckets(rows) {
  const times = rows.map((row) => row.time);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const step = STEPS.find((seconds) => (last - first) / seconds <= MOST) || STEPS.at(-1);
  const begin = Math.floor(first / step) * step;
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
