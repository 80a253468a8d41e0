// The calls of a turn that wait for the person.
import { useState } from "preact/hooks";
import type { ChatQuestion } from "../api/shapes.ts";
import { CannotDecide } from "../approvals/decisions.tsx";
import { Planned } from "../approvals/planned-call.tsx";
import { hasScope, useWho } from "../hooks/who.ts";
import { pluralize } from "../text/format.ts";

/** Which calls are approved: all, none, or those with these numbers. */
export type Decision = "all" | "none" | number[];

interface QuestionProps {
  question: ChatQuestion;
  isBusy: boolean;
  decide: (approve: Decision) => void;
}

export function Question({ question, isBusy, decide }: QuestionProps) {
  const asked = question.calls.filter((call) => call.needs_approval).map((call) => call.number);
  const [chosen, setChosen] = useState(() => new Set(asked));
  const toggle = (number: number) => {
    const next = new Set(chosen);
    if (!next.delete(number)) next.add(number);
    setChosen(next);
  };
  const mayDecide = hasScope(useWho(), "approve");
  const isAll = asked.every((number) => chosen.has(number));
  return (
    <section class="plan" aria-labelledby="question">
      <h2 id="question">May the program make {asked.length === 1 ? "this call" : `these ${pluralize(asked.length, "call")}`}?</h2>
      {question.stopped && <p class="callout">The plan ends early: {question.stopped}</p>}
      <ol class="planned">
        {question.calls.map((call) => (
          <Planned
            key={call.number}
            call={call}
            isOpen={mayDecide && !isBusy}
            isChosen={chosen.has(call.number)}
            state="pending"
            toggle={() => toggle(call.number)}
          />
        ))}
      </ol>
      <CannotDecide />
      <p class="actions">
        <button
          type="button"
          aria-busy={isBusy}
          disabled={!mayDecide || !chosen.size}
          onClick={() => decide(isAll ? "all" : [...chosen].sort((a, b) => a - b))}
        >
          {isAll ? "Approve all" : `Approve chosen (${chosen.size})`}
        </button>
        <button type="button" class="danger" disabled={!mayDecide} aria-busy={isBusy} onClick={() => decide("none")}>
          Deny
        </button>
      </p>
    </section>
  );
}
