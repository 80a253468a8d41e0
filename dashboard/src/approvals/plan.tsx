// One plan: its calls by tool, the program beside them, and the bar of a user who may decide.
import { useState } from "preact/hooks";
import { get, post } from "../api/client.ts";
import type { Approval, PlannedCall, Who } from "../api/shapes.ts";
import { linkTo } from "../hooks/route.ts";
import { useNow } from "../hooks/time.ts";
import { useAction } from "../hooks/use-action.ts";
import { hasScope, useWho } from "../hooks/who.ts";
import { Facts } from "../parts/facts.tsx";
import { Failure } from "../parts/loading.tsx";
import { SessionName } from "../parts/session-name.tsx";
import { Status, Time } from "../parts/status.tsx";
import { Code } from "../parts/text-boxes.tsx";
import { formatTimeLeft, pluralize, shortenId } from "../text/format.ts";
import { type Always, AlwaysChoice } from "./always.tsx";
import { DECIDED } from "./decided-event.ts";
import { type Decision, PlanDecision } from "./plan-decision.tsx";
import { findPlanState, type PlanState } from "./plan-state.tsx";
import { PlanTable, type ShownCall } from "./plan-table.tsx";
import { isFolded } from "./planned-values.tsx";

export function Plan({ approval, onDecided }: { approval: Approval; onDecided: (approval: Approval) => void }) {
  const who = useWho();
  const state = findPlanState(approval);
  const now = useNow(state === "pending");
  const { details, plan } = approval;
  const [chosen, setChosen] = useState<ReadonlySet<number>>(
    () => new Set(plan.calls.filter((call) => call.needs_approval).map((call) => call.number)),
  );
  const [always, setAlways] = useState<Always>("");
  const [values, setValues] = useState<Record<string, Record<string, unknown>> | null>(null);
  const calls = plan.calls.map((call) => ({ ...call, shown: values?.[call.number] ?? call.arguments }));
  const decide = useAction(async (approve: Decision) => {
    const tools = [...toolsOf(plan.calls, chosen)];
    const rules = approve !== "none" && always ? { scope: always, tools } : null;
    const decided = await post("/approvals/{id}", { id: approval.id }, { approve, always: rules });
    dispatchEvent(new Event(DECIDED));
    onDecided(decided);
  });
  const reveal = useAction(async () => {
    const found = await get("/approvals/{id}", { id: approval.id, values: true });
    setValues(found.details?.values ?? null);
  });
  const isOwn = who && approval.caller === who.caller && who.caller !== "local";
  const isOpen = state === "pending" && hasScope(who, "approve") && !isOwn;
  const tick = (numbers: number[], isTicked: boolean) => {
    const next = new Set(chosen);
    for (const number of numbers) isTicked ? next.add(number) : next.delete(number);
    setChosen(next);
  };
  const folded = calls.filter((call) => Object.values(call.shown).some(isFolded)).length;
  return (
    <article class="plan" aria-label={`Plan of execution ${shortenId(approval.execution)}`}>
      <header class="plan-head">
        <h2>
          {pluralize(plan.calls.length, "call")} of <ExecutionLink id={approval.execution} who={who} />
        </h2>
        <Status value={state} />
      </header>
      <PlanFacts approval={approval} state={state} now={now} />
      {plan.stopped && <p class="callout">The plan ends early: {plan.stopped}</p>}
      {folded > 0 && (
        <p class="callout">
          {pluralize(folded, "call")} {folded === 1 ? "has" : "have"} long values that are folded: open them before you approve.
        </p>
      )}
      {details?.has_masks && (
        <Masks canReveal={hasScope(who, "reveal")} isRevealed={Boolean(values)} show={reveal.run} hide={() => setValues(null)} />
      )}
      <Failure error={reveal.error} />
      <div class={details?.code ? "beside" : ""}>
        <div class="planned">
          {[...groupByTool(calls)].map(([tool, ofTool]) => (
            <PlanTable
              key={tool}
              tool={tool}
              calls={ofTool}
              description={details?.tools[tool]}
              isOpen={isOpen}
              chosen={isOpen ? chosen : new Set(approval.approved)}
              state={state}
              tick={tick}
            />
          ))}
        </div>
        {details?.code && (
          <details class="program" open={innerWidth > 800}>
            <summary>The program that asks</summary>
            <Code text={details.code} label="Program" />
          </details>
        )}
      </div>
      {!details && (
        <p class="small">
          <a href={linkTo("approvals", approval.id)}>See the program and what the tools do</a>
        </p>
      )}
      <Failure error={decide.error} />
      {isOwn && state === "pending" && <p class="callout">You asked for this: another person has to decide.</p>}
      {isOpen && details && (
        <AlwaysChoice offers={details.offered_rules} tools={toolsOf(plan.calls, chosen)} value={always} onChange={setAlways} />
      )}
      {isOpen && (
        <PlanDecision
          calls={plan.calls}
          chosen={chosen}
          decide={decide}
          left={approval.expires - now}
          of={shortenId(approval.execution)}
        />
      )}
      <NextStep state={state} approval={approval} />
    </article>
  );
}

/** The tools of the calls that are ticked. */
const toolsOf = (calls: PlannedCall[], chosen: ReadonlySet<number>) =>
  new Set(calls.filter((call) => call.needs_approval && chosen.has(call.number)).map((call) => call.tool));

export function groupByTool(calls: ShownCall[]) {
  const groups = new Map<string, ShownCall[]>();
  for (const call of calls) groups.set(call.tool, [...(groups.get(call.tool) ?? []), call]);
  return groups;
}

interface MasksProps {
  canReveal: boolean;
  isRevealed: boolean;
  show: () => void;
  hide: () => void;
}

/** Who sees `<EMAIL_1>` cannot tell a colleague from a stranger. */
const Masks = ({ canReveal, isRevealed, show, hide }: MasksProps) => (
  <p class="callout">
    {isRevealed ? "These are the real values." : "Placeholders such as <EMAIL_…> stand for personal data."}{" "}
    {canReveal ? (
      <button type="button" class="plain" onClick={isRevealed ? hide : show}>
        {isRevealed ? "Hide the values" : "Show the values"}
      </button>
    ) : (
      <>
        To see the values, your token needs the scope <code>reveal</code>.
      </>
    )}
  </p>
);

function PlanFacts({ approval, state, now }: { approval: Approval; state: PlanState; now: number }) {
  return (
    <Facts
      of={{
        "Asked by": approval.caller,
        Session: approval.session && <SessionName name={approval.session} caller={approval.caller} />,
        Asked: <Time at={approval.created} />,
        Expires: state === "pending" ? formatTimeLeft(approval.expires - now) : null,
        "Decided by": approval.decided_by,
        Decided: approval.decided ? <Time at={approval.decided} /> : null,
        Id: <code>{approval.id}</code>,
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

function NextStep({ state, approval }: { state: PlanState; approval: Approval }) {
  if (state === "approved")
    return (
      <p class="quiet">
        The calls are made, once, when the execution is resumed: <code>resume="{approval.execution}"</code>, or by the button on
        its page, which also says whether that was done.
      </p>
    );
  if (state === "withdrawn") return <p class="quiet">The execution was resumed before a decision, and asked something else.</p>;
  return null;
}
