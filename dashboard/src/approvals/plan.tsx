// One plan: its calls, and the buttons of a user who may decide.
import { useState } from "preact/hooks";
import { post } from "../api/client.ts";
import type { Approval, Who } from "../api/shapes.ts";
import { linkTo } from "../hooks/route.ts";
import { useNow } from "../hooks/time.ts";
import { type Action, useAction } from "../hooks/use-action.ts";
import { hasScope, useWho } from "../hooks/who.ts";
import { Facts } from "../parts/facts.tsx";
import { Failure } from "../parts/loading.tsx";
import { SessionName } from "../parts/session-name.tsx";
import { Status, Time } from "../parts/status.tsx";
import { formatTimeLeft, pluralize, shortenId } from "../text/format.ts";
import { DECIDED } from "./decided-event.ts";
import { findPlanState, type PlanState } from "./plan-state.tsx";
import { Planned } from "./planned-call.tsx";

/** Which calls are approved: all, none, or those with these numbers. */
type Decision = "all" | "none" | number[];

export function Plan({ approval, onDecided }: { approval: Approval; onDecided: (approval: Approval) => void }) {
  const who = useWho();
  const state = findPlanState(approval);
  const calls = approval.plan.calls;
  const [chosen, setChosen] = useState(() => new Set(calls.filter((call) => call.needs_approval).map((call) => call.number)));
  const decide = useAction(async (approve: Decision) => {
    const decided = await post("/approvals/{id}", { id: approval.id }, { approve });
    dispatchEvent(new Event(DECIDED));
    onDecided(decided);
  });
  const isOwn = who && approval.caller === who.caller && who.caller !== "local";
  const isOpen = state === "pending" && hasScope(who, "approve") && !isOwn;
  const toggle = (number: number) => {
    const next = new Set(chosen);
    if (!next.delete(number)) next.add(number);
    setChosen(next);
  };
  return (
    <article class="plan" aria-label={`Plan of execution ${shortenId(approval.execution)}`}>
      <header class="plan-head">
        <h2>
          {pluralize(calls.length, "call")} of <ExecutionLink id={approval.execution} who={who} />
        </h2>
        <Status value={state} />
      </header>
      <PlanFacts approval={approval} state={state} />
      {approval.plan.stopped && <p class="callout">The plan ends early: {approval.plan.stopped}</p>}
      <ol class="planned">
        {calls.map((call) => (
          <Planned
            key={call.number}
            call={call}
            isOpen={isOpen}
            isChosen={isOpen ? chosen.has(call.number) : approval.approved.includes(call.number)}
            state={state}
            toggle={() => toggle(call.number)}
          />
        ))}
      </ol>
      <Failure error={decide.error} />
      {isOwn && state === "pending" && <p class="callout">You asked for this: another person has to decide.</p>}
      {isOpen && <Buttons chosen={chosen} decide={decide} of={shortenId(approval.execution)} />}
      <NextStep state={state} approval={approval} />
    </article>
  );
}

function PlanFacts({ approval, state }: { approval: Approval; state: PlanState }) {
  const now = useNow(state === "pending");
  return (
    <Facts
      of={{
        "Asked by": approval.caller,
        Session: approval.session && <SessionName name={approval.session} caller={approval.caller} />,
        Asked: <Time at={approval.created} />,
        Expires: state === "pending" ? formatTimeLeft(approval.expires - now) : null,
        "Decided by": approval.decided_by,
        Decided: approval.decided ? <Time at={approval.decided} /> : null,
      }}
    />
  );
}

/** A token that may only approve does not see executions, so it gets no link. */
const ExecutionLink = ({ id, who }: { id: string; who: Who | null }) =>
  hasScope(who, "read", "execute", "admin") ? (
    <a href={linkTo("executions", id)}>{shortenId(id)}</a>
  ) : (
    <span>{shortenId(id)}</span>
  );

interface ButtonsProps {
  chosen: Set<number>;
  decide: Action<[Decision]>;
  of: string;
}

const Buttons = ({ chosen, decide, of }: ButtonsProps) => (
  <p class="actions">
    <button type="button" aria-busy={decide.busy} aria-label={`Approve all of ${of}`} onClick={() => decide.run("all")}>
      Approve all
    </button>
    <button
      type="button"
      class="plain"
      aria-busy={decide.busy}
      disabled={!chosen.size}
      onClick={() => decide.run([...chosen].sort((a, b) => a - b))}
    >
      Approve chosen ({chosen.size})
    </button>
    <button
      type="button"
      class="danger"
      aria-busy={decide.busy}
      aria-label={`Deny all of ${of}`}
      onClick={() => decide.run("none")}
    >
      Deny
    </button>
  </p>
);

function NextStep({ state, approval }: { state: PlanState; approval: Approval }) {
  if (state === "approved")
    return (
      <p class="quiet">
        The calls are made, once, when the execution is resumed: <code>resume="{approval.execution}"</code>, or by the button on
        its page, which also says whether that was done.
      </p>
    );
  if (state === "withdrawn") return <p class="quiet">The execution was resumed before a decision, and asked again.</p>;
  return null;
}
