// Numbers and times as people read them.
const whole = new Intl.NumberFormat();
const short = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });

export const count = (value) => (value === null || value === undefined ? "–" : whole.format(Math.round(value)));
export const compact = (value) => (value === null || value === undefined ? "–" : short.format(value));
export const many = (value, word) => `${count(value)} ${word}${value === 1 ? "" : "s"}`;

export function ms(value) {
  if (value === null || value === undefined) return "–";
  if (value < 10) return `${Number(value.toFixed(1))} ms`;
  if (value < 1000) return `${Math.round(value)} ms`;
  return value < 60_000
    ? `${(value / 1000).toFixed(1)} s`
    : `${Math.floor(value / 60_000)} min ${Math.round((value % 60_000) / 1000)} s`;
}

export function bytes(value) {
  for (const unit of ["B", "KB", "MB", "GB"]) {
    if (value < 1000 || unit === "GB") return `${value < 10 && unit !== "B" ? value.toFixed(1) : Math.round(value)} ${unit}`;
    value /= 1000;
  }
  return "";
}

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const day = new Intl.DateTimeFormat(undefined, {
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
});
export const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

export function when(seconds) {
  if (!seconds) return "–";
  const date = new Date(seconds * 1000);
  return Date.now() - date < 12 * 3_600_000 ? clock.format(date) : day.format(date);
}

export function left(seconds) {
  if (seconds <= 0) return "expired";
  if (seconds < 90) return `${Math.ceil(seconds)} s left`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min left`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h left` : `${Math.round(seconds / 86_400)} days left`;
}

export const shortId = (id) => id.slice(0, 8);

export function pretty(value) {
  if (typeof value === "string") return value;
  const text = JSON.stringify(value, null, 2);
  return text === undefined ? "" : text;
}

const GOOD = new Set(["ok", "ready", "approved", "connected"]);
const OPEN = new Set(["running", "awaiting_approval", "pending", "planned", "connecting", "interrupted", "dearer"]);
const QUIET = new Set(["idle", "closed", "expired", "cancelled", "denied", "accepted"]);

/** Which of four ways a status is shown. */
export function mood(status) {
  if (GOOD.has(status)) return "good";
  if (OPEN.has(status)) return "open";
  return QUIET.has(status) ? "quiet" : "bad";
}
