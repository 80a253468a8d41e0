// A status and a time, as every page shows them.
import type { ComponentChildren } from "preact";
import { describeStatus, formatFullTime, formatTime, statusTone } from "../text/format.ts";

/** A status in its color; `children` are shown instead of its name. */
export const Status = ({ value, children }: { value: string; children?: ComponentChildren }) => (
  <span class={`status ${statusTone(value)}`}>{children || describeStatus(value)}</span>
);

interface TimeProps {
  /** Seconds since 1970. */
  at: number | null | undefined;
  format?: (seconds: number) => string;
}

/** A time in short form; the full form is its tooltip. */
export const Time = ({ at, format = formatTime }: TimeProps) =>
  at ? (
    <time dateTime={new Date(at * 1000).toISOString()} title={formatFullTime(at)}>
      {format(at)}
    </time>
  ) : (
    <span>–</span>
  );
