// Numbers and times as people read them. All in English: so is every text of the service, and two ways to write a number on one
// page are one too many. The time of day is the reader's own; `zone` names it.
const ENGLISH = "en-GB";
const whole = new Intl.NumberFormat(ENGLISH);
const short = new Intl.NumberFormat(ENGLISH, { notation: "compact", maximumFractionDigits: 1 });

const isMissing = (value) => value === null || value === undefined;

export const count = (value) => (isMissing(value) ? "–" : whole.format(Math.round(value)));
export const compact = (value) => (isMissing(value) ? "–" : short.format(value));
export const many = (value, word) => `${count(value)} ${word}${value === 1 ? "" : "s"}`;
export const percent = (part, all) => `${((100 * part) / all).toFixed(part && part !== all ? 1 : 0)} %`;

const pair = (value, unit, rest, small) => `${count(value)} ${unit}${rest ? ` ${rest} ${small}` : ""}`;

/** A duration. Each unit takes over where the one below would be rounded up to it. */
export function ms(value) {
  if (isMissing(value)) return "–";
  if (value < 9.95) return `${Number(value.toFixed(1))} ms`;
  if (value < 999.5) return `${Math.round(value)} ms`;
  if (value < 59_950) return `${(value / 1000).toFixed(1)} s`;
  const [seconds, minutes, hours] = [1000, 60_000, 3_600_000].map((unit) => Math.round(value / unit));
  if (seconds < 3600) return pair(Math.floor(seconds / 60), "min", seconds % 60, "s");
  if (minutes < 2880) return pair(Math.floor(minutes / 60), "h", minutes % 60, "min");
  return pair(Math.floor(hours / 24), "days", hours % 24, "h");
}

export function bytes(value) {
  if (value < 1000) return `${value} B`;
  const units = ["KB", "MB", "GB"];
  let [size, place] = [value / 1000, 0];
  for (; size >= 999.5 && place < units.length - 1; place += 1) size /= 1000;
  return `${size < 9.95 ? size.toFixed(1) : Math.round(size)} ${units[place]}`;
}

const clock = { hour: "2-digit", minute: "2-digit", second: "2-digit" };
const day = { month: "short", day: "numeric" };
const format = (parts) => new Intl.DateTimeFormat(ENGLISH, { hourCycle: "h23", ...parts });
const today = format(clock);
const thisYear = format({ ...day, hour: "2-digit", minute: "2-digit" });
const earlier = format({ ...day, year: "numeric", hour: "2-digit", minute: "2-digit" });
const exact = format({ ...day, year: "numeric", ...clock });
export const full = format({ ...day, year: "numeric", ...clock, timeZoneName: "short" });

/** As much of a time as tells it from others: today's clock, a day of this year, or all of it. */
export function when(seconds) {
  if (!seconds) return "–";
  const [date, now] = [new Date(seconds * 1000), new Date()];
  if (date.toDateString() === now.toDateString()) return today.format(date);
  return (date.getFullYear() === now.getFullYear() ? thisYear : earlier).format(date);
}

/** A time to the second, with its day and year. */
export const exactly = (seconds) => (seconds ? exact.format(seconds * 1000) : "–");

const offset = format({ timeZoneName: "shortOffset" })
  .formatToParts()
  .find((part) => part.type === "timeZoneName").value;
const zoneName = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Whose time the pages tell. */
export const zone = zoneName === "UTC" ? "UTC" : `${zoneName} (${offset})`;

export function left(seconds) {
  if (seconds <= 0) return "expired";
  if (seconds < 90) return `${Math.ceil(seconds)} s left`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min left`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h left` : `${Math.round(seconds / 86_400)} days left`;
}

export const shortId = (id) => id.slice(0, 8);
/** A status as one says it; a code (`upstream.tool_failed`) stays whole, since it is looked up and filtered by. */
export const worded = (status) => (String(status).includes(".") ? status : String(status).replaceAll("_", " "));

export function pretty(value) {
  if (typeof value === "string") return value;
  const text = JSON.stringify(value, null, 2);
  return text === undefined ? "" : text;
}

const GOOD = new Set(["ok", "ready", "approved", "connected"]);
const OPEN = new Set(["running", "awaiting_approval", "pending", "planned", "connecting", "interrupted", "dearer"]);
const QUIET = new Set(["idle", "closed", "expired", "withdrawn", "cancelled", "denied", "accepted", "nothing", "unknown"]);

/** Which of four ways a status is shown. */
export function mood(status) {
  if (GOOD.has(status)) return "good";
  if (OPEN.has(status)) return "open";
  return QUIET.has(status) ? "quiet" : "bad";
}
