/** The value below which this share of the sorted values lies; null if there are none. */
export const findQuantile = (sorted: number[], share: number): number | null =>
  sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? null;
