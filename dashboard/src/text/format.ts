// Writes numbers and times for people. Everything is in English, like every other text of the service. Times are in the time zone
// of the browser, and `timeZone` names it.
import { STATUS_WORDS } from "./words.ts";

const ENGLISH = "en-GB";
const whole = new Intl.NumberFormat(ENGLISH);
const short = new Intl.NumberFormat(ENGLISH, { notation: "compact", maximumFractionDigits: 1 });

type Maybe<T> = T | null | undefined;

export const formatCount = (value: Maybe<number>) => (value == null ? "–" : whole.format(Math.round(value)));
export const formatCompact = (value: Maybe<number>) => (value == null ? "–" : short.format(value));
/** A number with its noun: "1 call", "2 calls". */
export const pluralize = (value: number, noun: string) => `${formatCount(value)} ${noun}${value === 1 ? "" : "s"}`;
/** Numbers with their noun, as ranges: "call 1", "calls 1 to 3 and 7". */
export function listNumbers(noun: string, numbers: number[]) {
  const ranges: [number, number][] = [];
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last && number === last[1] + 1) last[1] = number;
    else ranges.push([number, number]);
  }
  const words = ranges.map(([from, to]) => (from === to ? `${from}` : `${from} to ${to}`));
  const end = words.pop() ?? "";
  return `${noun}${numbers.length === 1 ? "" : "s"} ${words.length ? `${words.join(", ")} and ${end}` : end}`;
}

export const formatPercent = (part: number, all: number) => `${((100 * part) / all).toFixed(part && part !== all ? 1 : 0)} %`;

const joinUnits = (value: number, unit: string, rest: number, smaller: string) =>
  `${formatCount(value)} ${unit}${rest ? ` ${rest} ${smaller}` : ""}`;

/** A duration in milliseconds. A larger unit is used as soon as the smaller one would be rounded up to it. */
export function formatMs(value: Maybe<number>) {
  if (value == null) return "–";
  if (value < 9.95) return `${Number(value.toFixed(1))} ms`;
  if (value < 999.5) return `${Math.round(value)} ms`;
  if (value < 59_950) return `${(value / 1000).toFixed(1)} s`;
  const seconds = Math.round(value / 1000);
  const minutes = Math.round(value / 60_000);
  const hours = Math.round(value / 3_600_000);
  if (seconds < 3600) return joinUnits(Math.floor(seconds / 60), "min", seconds % 60, "s");
  if (minutes < 2880) return joinUnits(Math.floor(minutes / 60), "h", minutes % 60, "min");
  return joinUnits(Math.floor(hours / 24), "days", hours % 24, "h");
}

export function formatBytes(value: number) {
  if (value < 1000) return `${value} B`;
  const units = ["KB", "MB", "GB"];
  let [size, place] = [value / 1000, 0];
  for (; size >= 999.5 && place < units.length - 1; place += 1) size /= 1000;
  return `${size < 9.95 ? size.toFixed(1) : Math.round(size)} ${units[place]}`;
}

const clock = { hour: "2-digit", minute: "2-digit", second: "2-digit" } as const;
const day = { month: "short", day: "numeric" } as const;
const makeFormat = (parts: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(ENGLISH, { hourCycle: "h23", ...parts });
const today = makeFormat(clock);
const thisYear = makeFormat({ ...day, hour: "2-digit", minute: "2-digit" });
const earlier = makeFormat({ ...day, year: "numeric", hour: "2-digit", minute: "2-digit" });
const exact = makeFormat({ ...day, year: "numeric", ...clock });
const full = makeFormat({ ...day, year: "numeric", ...clock, timeZoneName: "short" });

/** A time in seconds since 1970, without what today or this year already says. */
export function formatTime(seconds: Maybe<number>) {
  if (!seconds) return "–";
  const [date, now] = [new Date(seconds * 1000), new Date()];
  if (date.toDateString() === now.toDateString()) return today.format(date);
  return (date.getFullYear() === now.getFullYear() ? thisYear : earlier).format(date);
}

/** A time to the second, with its day and year. */
export const formatExactTime = (seconds: Maybe<number>) => (seconds ? exact.format(seconds * 1000) : "–");

/** A time to the second, with its day, year and time zone. */
export const formatFullTime = (seconds: number) => full.format(seconds * 1000);

const offset = makeFormat({ timeZoneName: "shortOffset" })
  .formatToParts()
  .find((part) => part.type === "timeZoneName")?.value;
const zoneName = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The time zone of every time on the pages. */
export const timeZone = zoneName === "UTC" ? "UTC" : `${zoneName} (${offset})`;

export function formatTimeLeft(seconds: number) {
  if (seconds <= 0) return "expired";
  if (seconds < 90) return `${Math.ceil(seconds)} s left`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min left`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h left` : `${Math.round(seconds / 86_400)} days left`;
}

export const shortenId = (id: string) => id.slice(0, 8);

/** A status without underscores. A code (`upstream.tool_failed`) stays as it is, because people search for it. */
export const describeStatus = (status: unknown) => STATUS_WORDS[String(status)] ?? nameStatus(status);

const nameStatus = (status: unknown) => (String(status).includes(".") ? String(status) : String(status).replaceAll("_", " "));

export function formatJson(value: unknown) {
  if (typeof value === "string") return value;
  return JSON.stringify(value, null, 2) ?? "";
}

const GOOD = new Set(["ok", "ready", "approved", "connected"]);
const OPEN = new Set(["running", "awaiting_approval", "pending", "planned", "connecting", "interrupted", "dearer"]);
const QUIET = new Set(["idle", "closed", "expired", "withdrawn", "cancelled", "denied", "accepted", "nothing", "unknown"]);

/** The style class of a status. */
export function statusTone(status: string) {
  if (GOOD.has(status)) return "good";
  if (OPEN.has(status)) return "open";
  return QUIET.has(status) ? "quiet" : "bad";
}
