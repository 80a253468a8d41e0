// Nested calls, each where it was in time. Bars are plain boxes: their place and length are all there is to draw.
import { count, ms } from "../words.js";
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

const percent = (part, whole) => `${Math.max(0, Math.min(100, (100 * part) / whole))}%`;

export function Timeline({ calls, now }) {
  if (!calls.length) return <p class="quiet">It called no tools.</p>;
  const first = Math.min(...calls.map((call) => call.begin));
  const last = Math.max(...calls.map((call) => call.end ?? now));
  const span = Math.max(last - first, 0.001);
  const sorted = [...calls].sort((one, other) => one.begin - other.begin);
  return (
    <>
      <ol class="timeline" aria-label={`${calls.length} tool calls over ${ms(span * 1000)}`}>
        {sorted.slice(0, MOST).map((call) => (
          <Call key={call.id} call={call} first={first} span={span} now={now} />
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

function Call({ call, first, span, now }) {
  const end = call.end ?? now;
  const place = { marginLeft: percent(call.begin - first, span), width: percent(end - call.begin, span) };
  const look = call.end === undefined ? "open" : call.status === "ok" ? "good" : "bad";
  return (
    <li>
      <details>
        <summary>
          <span class="call-tool">{call.tool}</span>
          <span class="lane">
            <span class={`bar ${look}`} style={place} />
          </span>
          <span class="call-ms">{call.end === undefined ? "…" : ms((end - call.begin) * 1000)}</span>
        </summary>
        <div class="call-more">
          <Status value={call.status} />
          {call.message && <span> {call.message}</span>}
          {call.bytes !== undefined && <span> {count(call.bytes)} characters came back</span>}
          {call.rule && (
            <span>
              {" "}
              by the rule <code>{call.rule}</code>
            </span>
          )}
          {call.error && <p class="failure">{call.error}</p>}
          {call.arguments ? <Json value={call.arguments} label="Arguments" /> : <p class="quiet">No arguments on record.</p>}
        </div>
      </details>
    </li>
  );
}
