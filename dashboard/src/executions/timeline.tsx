// The calls of an execution, each at its place in time. The bars are plain boxes with a position and a length.
import type { AuditRecord } from "../api/shapes.ts";
import { Status } from "../parts/status.tsx";
import { Json } from "../parts/text-boxes.tsx";
import { describeStatus, formatCount, formatMs, statusTone } from "../text/format.ts";
import { describeDecided } from "../text/words.ts";

const MOST = 200; // calls that are drawn

/** One call. Times are in seconds since 1970; `end` is missing while the call is open. */
export interface TimedCall {
  id: string | number;
  tool: string;
  status: string;
  begin: number;
  end?: number;
  /** The progress that its server reported. */
  message?: string;
  arguments?: unknown;
  error?: string;
  /** How many characters came back. */
  bytes?: number;
  rule?: string;
  /** What the rules said: allow, ask or deny. */
  decision?: string;
}

/** Turns recorded calls into timed ones: a record has the time of the end, and the duration. */
export const fromRecords = (records: AuditRecord[]): TimedCall[] =>
  records.map(({ id, tool = "", status = "", time, ms, arguments: given, error, bytes, rule, decision }) => ({
    id,
    tool,
    status,
    begin: time - (ms || 0) / 1000,
    end: time,
    arguments: given,
    error,
    bytes,
    rule,
    decision,
  }));

const toPercent = (part: number, whole: number) => `${Math.max(0, Math.min(100, (100 * part) / whole))}%`;

interface TimelineProps {
  calls: TimedCall[];
  now: number;
  /** Whether the calls come from events, which say less than records. */
  isLive?: boolean;
  /** The text if there are no calls. */
  none?: string;
}

export function Timeline({ calls, now, isLive = false, none = "It called no tools." }: TimelineProps) {
  if (!calls.length) return <p class="quiet">{none}</p>;
  const first = Math.min(...calls.map((call) => call.begin));
  const last = Math.max(...calls.map((call) => call.end ?? now));
  const span = Math.max(last - first, 0.001);
  const sorted = [...calls].sort((one, other) => one.begin - other.begin);
  return (
    <>
      <ol class="timeline" aria-label={`${calls.length} tool calls over ${formatMs(span * 1000)}`}>
        {sorted.slice(0, MOST).map((call) => (
          <Call key={call.id} call={call} first={first} span={span} now={now} isLive={isLive} />
        ))}
      </ol>
      <p class="scale" aria-hidden="true">
        <span>0</span>
        <span>{formatMs(span * 1000)}</span>
      </p>
      {sorted.length > MOST && <p class="quiet">{formatCount(sorted.length - MOST)} more are in the audit.</p>}
    </>
  );
}

interface CallProps {
  call: TimedCall;
  first: number;
  span: number;
  now: number;
  isLive: boolean;
}

function Call({ call, first, span, now, isLive }: CallProps) {
  const end = call.end ?? now;
  // The bar of a short call at the end is moved left, so that it stays visible.
  const place = {
    marginLeft: `min(${toPercent(call.begin - first, span)}, 100% - 4px)`,
    width: toPercent(end - call.begin, span),
  };
  const tone = call.end === undefined ? "open" : statusTone(call.status);
  return (
    <li>
      <details>
        <summary>
          <span class="call-tool">
            {call.tool} {call.status !== "ok" && <small class={`word ${tone}`}>{describeStatus(call.status)}</small>}
          </span>
          <span class="lane">
            <span class={`bar ${tone}`} style={place} />
          </span>
          <span class="call-ms">{call.end === undefined ? "…" : formatMs((end - call.begin) * 1000)}</span>
        </summary>
        <CallDetails call={call} isLive={isLive} />
      </details>
    </li>
  );
}

const LATER = "Its arguments are shown once the execution has ended: they are masked when they are recorded.";
const NONE = "It was called without arguments, or they are not on record.";

const CallDetails = ({ call, isLive }: { call: TimedCall; isLive: boolean }) => (
  <div class="call-more">
    <p>
      <Status value={call.status} />
      {call.message && ` ${call.message}`}
      {call.bytes !== undefined && call.status !== "planned" && ` · ${formatCount(call.bytes)} characters came back`}
      {call.rule && <span title={call.rule}> · {describeDecided(call.rule, call.decision)}</span>}
    </p>
    {call.error && <p class="failure">{call.error}</p>}
    {call.arguments ? <Json value={call.arguments} label="Arguments" /> : <p class="quiet">{isLive ? LATER : NONE}</p>}
  </div>
);
