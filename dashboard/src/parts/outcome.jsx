// How an execution ended, as its caller was told.
import { to } from "../route.js";
import { count, many, ms, shortId } from "../words.js";
import { Facts, Status } from "./basics.jsx";
import { Json, Plain } from "./text.jsx";

/** Endings of which there is an account: the others were refused or broken off, or wait. */
export const COUNTED = new Set(["ok", "failed", "limited"]);

const saved = (tokens) =>
  `${count(Math.abs(tokens))} ${tokens < 0 ? "more than" : "less than"} direct calls, each token counted once`;

const Replayed = ({ of, answered }) => (
  <>
    <a href={to("executions", of)}>{shortId(of)}</a>, {many(answered, "answer")} of which {answered === 1 ? "was" : "were"} used
    again
  </>
);

/** `status` stands for the outcome's own where more is known by now; `more` is told with it. */
export function OutcomeFacts({ outcome, status = <Status value={outcome.status} />, more }) {
  const isCounted = COUNTED.has(outcome.status) && typeof outcome.tokens_saved === "number";
  return (
    <Facts
      of={{
        Status: status,
        Took: ms(outcome.execution_time_ms),
        Memory: outcome.memory_mb ? `${outcome.memory_mb.toFixed(1)} MB` : null,
        Tokens: isCounted ? saved(outcome.tokens_saved) : null,
        Limit: outcome.limit,
        Isolation: outcome.isolation,
        "Took up": outcome.replay && <Replayed of={outcome.replay.of} answered={outcome.replay.answered} />,
        ...more,
      }}
    />
  );
}

/** `workspace` is the session whose files hold what was left out, for those who can open it. */
export function OutcomeBody({ outcome, workspace }) {
  return (
    <>
      {outcome.error && (
        <section>
          <h2>Error</h2>
          <Plain text={outcome.error} label="Error" className="bad" />
        </section>
      )}
      {outcome.result !== null && outcome.result !== undefined && (
        <section>
          <h2>{outcome.status === "awaiting_approval" ? "Result, as planned" : "Result"}</h2>
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
                  are in <code>{workspace ? <a href={to("sessions", workspace)}>{part.path}</a> : part.path}</code>
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
