// The values of a planned call: placeholders for results that do not exist yet, long texts, and everything else.
import { formatCount } from "../text/format.ts";

const LONGEST = 400;
const MOST_LINES = 8;

type Arguments = Readonly<Record<string, unknown>>;

/** What stands for a result that only the plan knows: `{"$planned": [1, "id"]}` is the `id` of call 1. */
function describePlaceholder(value: unknown): string | null {
  if (typeof value !== "object" || value === null || Object.keys(value).length !== 1) return null;
  const path: unknown = (value as Record<string, unknown>).$planned;
  if (!Array.isArray(path) || typeof path[0] !== "number") return null;
  const [number, ...keys] = path as [number, ...(string | number)[]];
  return keys.length ? `${keys.join(".")} of call ${number}` : `result of call ${number}`;
}

/** A value as text: a string as it is, everything else as JSON in which placeholders are words. */
export function writeValue(value: unknown): string {
  if (typeof value === "string") return value;
  const indent = JSON.stringify(value)?.length > 80 ? 2 : 0;
  return (
    JSON.stringify(
      value,
      (_key, part: unknown) => {
        const words = describePlaceholder(part);
        return words ? `‹${words}›` : part;
      },
      indent,
    ) ?? ""
  );
}

const isLong = (text: string) => text.length > LONGEST || text.split("\n", MOST_LINES + 1).length > MOST_LINES;

/** Whether a value is folded at first. */
export const isFolded = (value: unknown) => !describePlaceholder(value) && isLong(writeValue(value));

/** A value. One that is long is folded, and says how long it is. */
export function PlannedValue({ value }: { value: unknown }) {
  const words = describePlaceholder(value);
  if (words) return <span class="placeholder">{words}</span>;
  const text = writeValue(value);
  if (!isLong(text)) return <code class={typeof value === "string" ? "value" : "value quiet-quotes"}>{text || "(empty)"}</code>;
  const lines = text.split("\n").length;
  return (
    <details class="long">
      <summary>
        <code>{text.slice(0, 60).split("\n", 1)[0]}…</code>{" "}
        <b>
          show all {formatCount(text.length)} characters{lines > 1 && `, ${formatCount(lines)} lines`}
        </b>
      </summary>
      <pre>{text}</pre>
    </details>
  );
}

/** Splits the arguments of several calls into those that are the same in all of them, and the names of those that vary. */
export function compareArguments(calls: readonly Arguments[]): { same: Arguments; varying: string[] } {
  const names = [...new Set(calls.flatMap((one) => Object.keys(one)))];
  const isSame = (name: string) => new Set(calls.map((one) => JSON.stringify(one[name]))).size === 1;
  if (calls.length < 2) return { same: {}, varying: names };
  const same = Object.fromEntries(names.filter(isSame).map((name) => [name, calls[0]?.[name]]));
  return { same, varying: names.filter((name) => !(name in same)) };
}
