// Rows that were loaded page by page, and stay while new ones come in above them.

const PAGES = 20; // so far a gap is filled between what is new and what is shown

const byAge = (one, other) => (other.seq ?? Infinity) - (one.seq ?? Infinity) || (other.time ?? 0) - (one.time ?? 0);

function merged(old, rows, next) {
  const found = new Map([...old, ...rows].map((row) => [row.id, row])); // of two the later one is newer
  return { rows: [...found.values()].sort(byAge), next };
}

/** The newest rows, page by page until they reach one of `shown`; `isApart` where they did not. */
export async function newest(load, shown) {
  const known = new Set((shown?.rows || []).filter((row) => row.seq).map((row) => row.id));
  const rows = [];
  for (let [pages, after] = [0, undefined]; ; pages += 1) {
    const page = await load(after);
    rows.push(...page.executions);
    const isJoined = !page.next || !known.size || page.executions.some((row) => known.has(row.id));
    if (isJoined || pages === PAGES) return { rows, next: page.next, isApart: !isJoined };
    after = page.next;
  }
}

/** `shown` with what is new. What ran and is not among that has ended: its record, which is, says how. */
export function refreshed(shown, fresh) {
  if (!shown || fresh.isApart) return merged([], fresh.rows, fresh.next);
  return merged(
    shown.rows.filter((row) => row.status !== "running"),
    fresh.rows,
    shown.next,
  );
}

/** `shown` with a page of older ones. */
export const extended = (shown, page) => merged(page.executions, shown.rows, page.next);
