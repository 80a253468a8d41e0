// How an execution ended, as its caller was told.
import type { ComponentChildren } from "preact";
import type { Outcome } from "../api/shapes.ts";
import { linkTo } from "../hooks/route.ts";
import { Facts, type NamedFacts } from "../parts/facts.tsx";
import { Status } from "../parts/status.tsx";
import { Json, Plain } from "../parts/text-boxes.tsx";
import { describeSaved } from "../parts/tokens.tsx";
import { formatCount, formatMs, pluralize, shortenId } from "../text/format.ts";
import { WORDS } from "../text/words.ts";

/** The statuses with a token account. Executions with other statuses were refused or broken off, or they wait. */
export const COUNTED: ReadonlySet<string> = new Set(["ok", "failed", "limited"]);

const Replayed = ({ of, answered }: { of: string; answered: number }) => (
  <>
    <a href={linkTo("executions", of)}>{shortenId(of)}</a>, {pluralize(answered, "answer")} of which{" "}
    {answered === 1 ? "was" : "were"} used again
  </>
);

interface OutcomeFactsProps {
  outcome: Outcome;
  /** Shown instead of the outcome's status, if more is known by now. */
  status?: ComponentChildren;
  more?: NamedFacts;
}

export function OutcomeFacts({ outcome, status = <Status value={outcome.status} />, more }: OutcomeFactsProps) {
  const saved = COUNTED.has(outcome.status) ? outcome.tokens_saved : null;
  return (
    <Facts
      of={{
        Status: status,
        Took: formatMs(outcome.execution_time_ms),
        Memory: outcome.memory_mb ? `${outcome.memory_mb.toFixed(1)} MB` : null,
        Tokens: typeof saved === "number" ? describeSaved(saved) : null,
        Limit: outcome.limit,
        Isolation: outcome.isolation,
        Resumed: outcome.replay && <Replayed of={outcome.replay.of} answered={outcome.replay.answered} />,
        ...more,
      }}
    />
  );
}

interface OutcomeBodyProps {
  outcome: Outcome;
  /** The session whose files hold what was left out; null if the user cannot open it. */
  workspace: string | null;
}

export const OutcomeBody = ({ outcome, workspace }: OutcomeBodyProps) => (
  <>
    {outcome.error && (
      <section>
        <h2>Error</h2>
        <Plain text={outcome.error} label="Error" className="bad" />
      </section>
    )}
    {outcome.result !== null && outcome.result !== undefined && (
      <section>
        <h2>{outcome.status === "awaiting_approval" ? WORDS.preview : "Result"}</h2>
        <Json value={outcome.result} label="Result" />
      </section>
    )}
    {(outcome.left_out.length > 0 || outcome.advice.length > 0) && (
      <ul class="notes">
        {outcome.left_out.map((part) => (
          <li key={part.part}>
            The {part.part} was too long: {formatCount(part.tokens)} tokens
            {part.path && (
              <>
                {" "}
                are in <code>{workspace ? <a href={linkTo("sessions", workspace)}>{part.path}</a> : part.path}</code>
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
