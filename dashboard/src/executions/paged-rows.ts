// Rows that were loaded page by page, and stay while newer ones are added above them.

/** What the functions below read of a row. */
export interface Row {
  id: string;
  status: string;
  time?: number | null;
  seq?: number | null;
}

export interface Shown<R extends Row> {
  rows: R[];
  /** Where older rows begin; null if there are none. */
  next: number | null | undefined;
}

export interface Newest<R extends Row> extends Shown<R> {
  /** Whether there are rows between these and the shown ones that were not loaded. */
  isApart: boolean;
}

interface Page<R extends Row> {
  executions: R[];
  next?: number | null;
}

const PAGES = 20; // pages that are loaded at most, to close a gap between the newest rows and the shown ones

const compareAge = (one: Row, other: Row) =>
  (other.seq ?? Infinity) - (one.seq ?? Infinity) || (other.time ?? 0) - (one.time ?? 0);

/** Joins two lists. If both have a row, the one of `newer` is kept. */
function mergeRows<R extends Row>(older: R[], newer: R[]) {
  const found = new Map([...older, ...newer].map((row) => [row.id, row]));
  return [...found.values()].sort(compareAge);
}

/**
 * Loads the newest rows, page by page, until they reach the shown ones. They are compared by number, not by id: an execution of
 * another process has a number while it runs, and gets a higher one when it ends.
 */
export async function loadNewest<R extends Row>(
  load: (after: number | undefined) => Promise<Page<R>>,
  shown: Shown<R> | null,
): Promise<Newest<R>> {
  const highest = Math.max(0, ...(shown?.rows || []).map((row) => row.seq ?? 0));
  const rows: R[] = [];
  let after: number | undefined;
  for (let pages = 0; ; pages += 1) {
    const page = await load(after);
    rows.push(...page.executions);
    const isJoined = !page.next || !highest || page.next <= highest;
    if (isJoined || pages === PAGES) return { rows, next: page.next, isApart: !isJoined };
    after = page.next ?? undefined;
  }
}

/**
 * Adds the newest rows to the shown ones. A shown row that was running and is not among the newest has ended, and its record is
 * among them. Rows that are older than the newest pages stay as they are.
 */
export function addNewest<R extends Row>(shown: Shown<R> | null, newest: Newest<R>): Shown<R> {
  if (!shown || newest.isApart) return { rows: mergeRows([], newest.rows), next: newest.next };
  const isOlder = (row: R) => row.seq && newest.next && row.seq < newest.next;
  const kept = shown.rows.filter((row) => row.status !== "running" || isOlder(row));
  return { rows: mergeRows(kept, newest.rows), next: shown.next };
}

/** Adds a page of older rows to the shown ones. */
export const addOlder = <R extends Row>(shown: Shown<R>, page: Page<R>): Shown<R> => ({
  rows: mergeRows(page.executions, shown.rows),
  next: page.next,
});
