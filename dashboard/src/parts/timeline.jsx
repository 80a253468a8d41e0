// Nested calls, each where it was in time. Bars are plain boxes: their place and length are all there is to draw.
import { count, mood, ms, worded } from "../words.js";
import { Status } from "./basics.jsx";
import { Json } from "./text.jsx";

/** Calls of the record: their `time` is when they ended. */
export const fromRecord = (calls) =>
  calls.map((call) => ({
    id: call.id,
    tool: call.tool,
    status: call.status,
    begin: call.time - (call.ms || 0) / 1000,
    end: call.time,
    arguments: call.arguments,
    error: call.error,
    bytes: call.bytes,
    rule: call.rule,
  }));

const MOST = 200; // calls that are drawn

const share = (part, whole) => `${Math.max(0, Math.min(100, (100 * part) / whole))}%`;

/** `isLive`: as they are heard, which tells less of them than the record does; `none` is said where there are none. */
export function Timeline({ calls, now, isLive, none = "It called no tools." }) {
  if (!calls.length) return <p class="quiet">{none}</p>;
  const first = Math.min(...calls.map((call) => call.begin));
  const last = Math.max(...calls.map((call) => call.end ?? now));
  const span = Math.max(last - first, 0.001);
  const sorted = [...calls].sort((one, other) => one.begin - other.begin);
  return (
    <>
      <ol class="timeline" aria-label={`${calls.length} tool calls over ${ms(span * 1000)}`}>
        {sorted.slice(0, MOST).map((call) => (
          <Call key={call.id} call={call} first={first} span={span} now={now} isLive={isLive} />
        ))}
      </ol>
      <p class="scale" aria-hidden="true">
        <span>0</span>
        <span>{ms(span * 1000)}</span>
      </p>
      {sorted.length > MOST && <p class="quiet">{count(sorted.length - MOST)} more are in the audit.</p>}
    </>
  );
}

function Call({ call, first, span, now, isLive }) {
  const end = call.end ?? now;
  // However short and late a call was, its bar is there.
  const place = { marginLeft: `min(${share(call.begin - first, span)}, 100% - 4px)`, width: share(end - call.begin, span) };
  const look = call.end === undefined ? "open" : mood(call.status);
  return (
    <li>
      <details>
        <summary>
          <span class="call-tool">
            {call.tool} {call.status !== "ok" && <small class={`word ${look}`}>{worded(call.status)}</small>}
          </span>
          <span class="lane">
            <span class={`bar ${look}`} style={place} />
          </span>
          <span class="call-ms">{call.end === undefined ? "…" : ms((end - call.begin) * 1000)}</span>
        </summary>
        <More call={call} isLive={isLive} />
      </details>
    </li>
  );
}

function More({ call, isLive }) {
  return (
    <div class="call-more">
      <p>
        <Status value={call.status} />
        {call.message && ` ${call.message}`}
        {call.bytes !== undefined && call.status !== "planned" && ` · ${count(call.bytes)} characters came back`}
        {call.rule && (
          <>
            {" "}
            · decided by <code>{call.rule}</code>
          </>
        )}
      </p>
      {call.error && <p class="failure">{call.error}</p>}
      {call.arguments ? <Json value={call.arguments} label="Arguments" /> : <p class="quiet">{isLive ? LATER : NONE}</p>}
    </div>
  );
}

const LATER = "Its arguments are shown once the execution has ended: they are masked when they are recorded.";
const NONE = "It was called without arguments, or they are not on record.";
