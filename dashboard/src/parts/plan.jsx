// One plan: every call with what it would do, and the buttons of whoever may decide.
import { useId, useState } from "preact/hooks";
import { path, post } from "../api.js";
import { to } from "../route.js";
import { DECIDED, may, useAction, useNow, useWho } from "../state.js";
import { left, many, shortId } from "../words.js";
import { Facts, Failure, SessionName, Status, Time } from "./basics.jsx";
import { standing } from "./standing.jsx";
import { Diff, Json } from "./text.jsx";

export function Plan({ approval, decided }) {
  const who = useWho();
  const state = standing(approval);
  const now = useNow(state === "pending");
  const calls = approval.plan.calls;
  const [chosen, setChosen] = useState(() => new Set(calls.filter((call) => call.needs_approval).map((call) => call.number)));
  const decide = useAction(async (approve) => {
    const told = await post(`approvals/${path(approval.id)}`, { approve });
    dispatchEvent(new Event(DECIDED));
    decided(told);
  });
  const isOwn = who && approval.caller === who.caller && who.caller !== "local";
  const isOpen = state === "pending" && may(who, "approve") && !isOwn;
  const toggle = (number) => {
    const next = new Set(chosen);
    if (!next.delete(number)) next.add(number);
    setChosen(next);
  };
  return (
    <article class="plan" aria-label={`Plan of execution ${shortId(approval.execution)}`}>
      <header class="plan-head">
        <h2>
          {many(calls.length, "call")} of <Run id={approval.execution} who={who} />
        </h2>
        <Status value={state} />
      </header>
      <Facts
        of={{
          "Asked by": approval.caller,
          Session: approval.session && <SessionName name={approval.session} caller={approval.caller} />,
          Asked: <Time at={approval.created} />,
          Expires: state === "pending" ? left(approval.expires - now) : null,
          "Decided by": approval.decided_by,
          Decided: approval.decided ? <Time at={approval.decided} /> : null,
        }}
      />
      {approval.plan.stopped && <p class="callout">The plan ends early: {approval.plan.stopped}</p>}
      <ol class="planned">
        {calls.map((call) => (
          <Planned
            key={call.number}
            call={call}
            isOpen={isOpen}
            chosen={isOpen ? chosen.has(call.number) : approval.approved.includes(call.number)}
            state={state}
            toggle={() => toggle(call.number)}
          />
        ))}
      </ol>
      <Failure error={decide.error} />
      {isOwn && state === "pending" && <p class="callout">You asked for this: somebody else has to decide.</p>}
      {isOpen && <Decide chosen={chosen} decide={decide} of={shortId(approval.execution)} />}
      <After state={state} approval={approval} />
    </article>
  );
}

/** Who may only decide does not see executions. */
const Run = ({ id, who }) =>
  may(who, "read", "execute", "admin") ? <a href={to("executions", id)}>{shortId(id)}</a> : <span>{shortId(id)}</span>;

const Decide = ({ chosen, decide, of }) => (
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

function After({ state, approval }) {
  if (state === "approved")
    return (
      <p class="quiet">
        The calls are made, once, when the execution is resumed: <code>resume="{approval.execution}"</code>, or by the button on
        its page, which also says whether that was done.
      </p>
    );
  if (state === "withdrawn") return <p class="quiet">The execution was resumed before anybody decided, and asked anew.</p>;
  return null;
}

function Planned({ call, isOpen, chosen, state, toggle }) {
  const id = useId();
  const refused = state === "expired" || state === "withdrawn" ? state : "denied"; // whatever became of the rest of the plan
  const verdict = state === "pending" || !call.needs_approval ? null : chosen ? "approved" : refused;
  const isAsked = isOpen && call.needs_approval;
  return (
    <li>
      <p class="planned-head">
        {isAsked && <input type="checkbox" id={id} checked={chosen} onChange={toggle} />}
        <label htmlFor={isAsked ? id : undefined}>
          <code>{call.tool}</code>
        </label>
        {verdict && <Status value={verdict} />}
        <span class="quiet">{call.needs_approval ? `asks by ${call.rule}` : "allowed anyway"}</span>
      </p>
      {call.was_lost && <p class="callout">It was sent before and its answer was lost: approving may do it twice.</p>}
      {call.diff ? (
        <Diff text={call.diff} label={`What ${call.tool} would change`} />
      ) : (
        <Json value={call.arguments} label={`Arguments of ${call.tool}`} />
      )}
      {call.diff && (
        <details>
          <summary>Arguments</summary>
          <Json value={call.arguments} label={`Arguments of ${call.tool}`} />
        </details>
      )}
    </li>
  );
}
