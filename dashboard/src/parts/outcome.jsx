// How an execution ended, as its caller was told.
import { to } from "../state.js";
import { count, many, ms } from "../words.js";
import { Facts, Status } from "./basics.jsx";
import { Json, Plain } from "./text.jsx";

const saved = (tokens) => (tokens < 0 ? `${count(-tokens)} more than direct calls` : `${count(tokens)} against direct calls`);

export function OutcomeFacts({ outcome }) {
  return (
    <Facts
      of={{
        Status: <Status value={outcome.status} />,
        Took: ms(outcome.execution_time_ms),
        Memory: outcome.memory_mb ? `${outcome.memory_mb.toFixed(1)} MB` : null,
        "Tokens saved": typeof outcome.tokens_saved === "number" ? saved(outcome.tokens_saved) : null,
        Limit: outcome.limit,
        Isolation: outcome.isolation,
        Replayed: outcome.replay ? `${many(outcome.replay.answered, "answer")} of ${outcome.replay.of.slice(0, 8)}` : null,
      }}
    />
  );
}

export function OutcomeBody({ outcome }) {
  return (
    <>
      {outcome.plan && (
        <p class="callout">
          {many(outcome.plan.calls.length, "call")} of it wait for a person.{" "}
          <a href={to("approvals", outcome.plan.id)}>See the plan</a>
        </p>
      )}
      {outcome.error && (
        <section>
          <h2>Error</h2>
          <Plain text={outcome.error} label="Error" className="bad" />
        </section>
      )}
      {outcome.result !== null && outcome.result !== undefined && (
        <section>
          <h2>Result</h2>
          <Json value={outcome.result} label="Result" />
        </section>
      )}
      {(outcome.left_out.length > 0 || outcome.advice.length > 0) && (
        <ul class="notes">
          {outcome.left_out.map((part) => (
            <li key={part.part}>
              The {part.part} was too long: {count(part.tokens)} tokens
              {part.path && (
                <>
                  {" "}
                  are in <code>{part.path}</code>
                </>
              )}
              . <code>{part.how}</code>
            </li>
          ))}
          {outcome.advice.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
    </>
  );
}
