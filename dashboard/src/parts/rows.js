// Rows that were loaded page by page, and stay while new ones come in above them.

const PAGES = 20; // so far a gap is filled between what is new and what is shown

const byAge = (one, other) => (other.seq ?? Infinity) - (one.seq ?? Infinity) || (other.time ?? 0) - (one.time ?? 0);

function merged(old, rows, next) {
  const found = new Map([...old, ...rows].map((row) => [row.id, row])); // of two the later one is newer
  return { rows: [...found.values()].sort(byAge), next };
}

/** The newest rows, page by page until they reach those of `shown`; `isApart` where they did not. Numbers tell, not ids: what another
 * process runs has a number already, and a higher one when it has ended. */
export async function newest(load, shown) {
  const highest = Math.max(0, ...(shown?.rows || []).map((row) => row.seq ?? 0));
  const rows = [];
  for (let [pages, after] = [0, undefined]; ; pages += 1) {
    const page = await load(after);
    rows.push(...page.executions);
    const isJoined = !page.next || !highest || page.next <= highest;
    if (isJoined || pages === PAGES) return { rows, next: page.next, isApart: !isJoined };
    after = page.next;
  }
}

/** `shown` with what is new. What ran and is not among that has ended: its record, which is, says how. Rows below what was asked for
 * are as they were. */
export function refreshed(shown, fresh) {
  if (!shown || fresh.isApart) return merged([], fresh.rows, fresh.next);
  const isBelow = (row) => row.seq && fresh.next && row.seq < fresh.next;
  return merged(
    shown.rows.filter((row) => row.status !== "running" || isBelow(row)),
    fresh.rows,
    shown.next,
  );
}

/** `shown` with a page of older ones. */
export const extended = (shown, page) => merged(page.executions, shown.rows, page.next);
