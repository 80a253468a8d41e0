// One turn: the question, what was done, and the answer.

import type { ChatUsage } from "../api/shapes.ts";
import { linkTo } from "../hooks/route.ts";
import { Failure } from "../parts/loading.tsx";
import { Status } from "../parts/status.tsx";
import { Code, Plain } from "../parts/text-boxes.tsx";
import { formatCount, formatMs, pluralize, shortenId } from "../text/format.ts";
import { AnswerText } from "./answer-text.tsx";
import type { NestedCall, Part, Program, Turn } from "./turn-state.ts";

export function TurnView({ turn }: { turn: Turn }) {
  const { answer, usage } = turn;
  return (
    <article class="turn" aria-label="Turn">
      {turn.asked && <p class="asked">{turn.asked}</p>}
      {turn.parts.map((part, place) => (
        <PartView key={place} part={part} />
      ))}
      {turn.waiting && (
        <p class="quiet" role="status">
          {turn.waiting} …
        </p>
      )}
      {answer?.problem && <Failure error={answer.problem} />}
      {answer?.status === "stopped" && !answer.problem && <p class="callout">Stopped.</p>}
      {usage && usage.requests > 0 && <p class="quiet small">{describeCost(usage)}</p>}
    </article>
  );
}

/** Says what a turn or a conversation cost. */
export function describeCost(usage: ChatUsage) {
  const cached = usage.cached_tokens ? ` (${formatCount(usage.cached_tokens)} cached)` : "";
  const money = usage.money == null ? "" : ` · $${usage.money.toFixed(usage.money < 0.1 ? 4 : 2)}`;
  const tokens = `${formatCount(usage.input_tokens)} tokens in${cached}, ${formatCount(usage.output_tokens)} out`;
  return `${tokens} · ${pluralize(usage.requests, "request")}${money}`;
}

function PartView({ part }: { part: Part }) {
  switch (part.kind) {
    case "text":
      return <AnswerText text={part.text} />;
    case "note":
      return <p class="quiet">{part.text}</p>;
    default:
      return <ProgramView program={part} />;
  }
}

const ProgramView = ({ program }: { program: Program }) => (
  <details class="step" open>
    <summary>
      {program.tool ? <code>{program.tool}</code> : `Program ${program.number}`} <Status value={program.status} />
      {program.ms !== null && <span class="quiet small">{formatMs(program.ms)}</span>}
    </summary>
    {program.code && <Code text={program.code} label={`Program ${program.number}`} />}
    <Calls calls={program.calls} count={program.callCount} />
    {program.output && <Plain text={program.output} label="Output" />}
    {program.execution && (
      <p class="small">
        <a href={linkTo("executions", program.execution)}>Execution {shortenId(program.execution)}</a>
      </p>
    )}
    {program.failure && <Plain text={program.failure} label="What the model reads" className="bad" />}
  </details>
);

function Calls({ calls, count }: { calls: NestedCall[]; count: number }) {
  if (!count) return null;
  return (
    <ul class="nested">
      {calls.map((call, place) => (
        <li key={place}>
          <span class={call.isOk ? "word" : "word bad"}>{call.isOk ? "✓" : "✗"}</span> <code>{call.tool}</code>{" "}
          <span class="quiet small">{formatMs(call.ms)}</span>
        </li>
      ))}
      {count > calls.length && <li class="quiet">and {pluralize(count - calls.length, "more call")}</li>}
    </ul>
  );
}
