// The calls of a turn that wait for the person, as the inbox of approvals shows them.
import { useState } from "preact/hooks";
import type { ChatQuestion } from "../api/shapes.ts";
import { CannotDecide } from "../approvals/decisions.tsx";
import { groupByTool } from "../approvals/plan.tsx";
import { type Decision, PlanDecision } from "../approvals/plan-decision.tsx";
import { PlanTable } from "../approvals/plan-table.tsx";
import { useNow } from "../hooks/time.ts";
import { hasScope, useWho } from "../hooks/who.ts";
import { pluralize } from "../text/format.ts";

interface QuestionProps {
  question: ChatQuestion;
  isBusy: boolean;
  decide: (approve: Decision) => void;
}

export function Question({ question, isBusy, decide }: QuestionProps) {
  const { calls, stopped, expires } = question;
  const asked = calls.filter((call) => call.needs_approval).map((call) => call.number);
  const [chosen, setChosen] = useState<ReadonlySet<number>>(() => new Set(asked));
  const mayDecide = hasScope(useWho(), "approve");
  const now = useNow(true);
  const tick = (numbers: number[], isTicked: boolean) => {
    const next = new Set(chosen);
    for (const number of numbers) isTicked ? next.add(number) : next.delete(number);
    setChosen(next);
  };
  const run = async (approve: Decision) => decide(approve);
  return (
    <section class="plan" aria-labelledby="question">
      <h2 id="question">May the program make {asked.length === 1 ? "this call" : `these ${pluralize(asked.length, "call")}`}?</h2>
      {stopped && <p class="callout">The plan ends early: {stopped}</p>}
      <div class="planned">
        {[...groupByTool(calls.map((call) => ({ ...call, shown: call.arguments })))].map(([tool, ofTool]) => (
          <PlanTable
            key={tool}
            tool={tool}
            calls={ofTool}
            isOpen={mayDecide && !isBusy}
            chosen={chosen}
            state="pending"
            tick={tick}
          />
        ))}
      </div>
      <CannotDecide />
      {mayDecide && (
        <PlanDecision
          calls={calls}
          chosen={chosen}
          decide={{ busy: isBusy, error: null, run }}
          left={expires - now}
          of="this conversation"
        />
      )}
    </section>
  );
}
