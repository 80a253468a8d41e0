// Plans that wait for a person. Whoever asked does not answer.
import { useId, useState } from "preact/hooks";
import { get, path, post } from "../api.js";
import { Empty, Facts, Failure, Header, Loaded, Status, Time } from "../parts/basics.jsx";
import { Diff, Json } from "../parts/text.jsx";
import { DECIDED, may, to, useAction, useLoad, useNow, useWho } from "../state.js";
import { left, many, shortId } from "../words.js";

export function Approvals() {
  const [every, setEvery] = useState(false);
  const list = useLoad((signal) => get(`approvals?pending=${!every}`, signal), [every], { every: 4000 });
  return (
    <>
      <Header
        title="Approvals"
        lead="Calls that the policy does not allow without a person. A decision covers exactly these calls, once."
      >
        <label class="check">
          <input type="checkbox" checked={every} onChange={(event) => setEvery(event.currentTarget.checked)} /> decided ones, too
        </label>
      </Header>
      <Cannot />
      <Loaded of={list}>
        {(rows) =>
          rows.length ? (
            rows.map((row) => <Plan key={row.id} approval={row} again={list.again} />)
          ) : (
            <Empty title="Nothing waits for you.">
              <p>
                When code makes a call that the policy asks about, the run stops before anything is done, and its plan is put
                here. Which calls ask is set in the policy:
              </p>
              <Json value={'[policy]\nask = ["github.create_*"]'} label="Example" />
            </Empty>
          )
        }
      </Loaded>
    </>
  );
}

export function Approval({ id }) {
  const found = useLoad((signal) => get(`approvals/${path(id)}`, signal), [id], { every: 4000 });
  return (
    <>
      <p class="crumbs">
        <a href={to("approvals")}>Approvals</a>
      </p>
      <Header title="Plan" />
      <Cannot />
      <Loaded of={found}>{(approval) => <Plan approval={approval} again={found.again} />}</Loaded>
    </>
  );
}

function Cannot() {
  const who = useWho();
  if (may(who, "approve")) return null;
  return (
    <p class="callout">
      You can look, not decide: that takes a token with the scope <code>approve</code>, since the agent may sit on this machine
      too. Make one with{" "}
      <code>
        gristmill tokens create NAME{who?.tenant !== "local" && ` --tenant ${who?.tenant}`} --scope approve --scope read
      </code>{" "}
      and <a href={to("token")}>use it here</a>.
    </p>
  );
}

function Plan({ approval, again }) {
  const who = useWho();
  const now = useNow(approval.standing === "pending");
  const calls = approval.plan.calls;
  const [chosen, setChosen] = useState(() => new Set(calls.filter((call) => call.needs_approval).map((call) => call.number)));
  const decide = useAction(async (approve) => {
    await post(`approvals/${path(approval.id)}`, { approve });
    dispatchEvent(new Event(DECIDED));
    again();
  });
  const own = who && approval.caller === who.caller && who.caller !== "local";
  const isOpen = approval.standing === "pending" && may(who, "approve") && !own;
  const toggle = (number) => {
    const next = new Set(chosen);
    if (!next.delete(number)) next.add(number);
    setChosen(next);
  };
  return (
    <article class="plan" aria-label={`Plan of execution ${shortId(approval.execution)}`}>
      <header class="plan-head">
        <h2>
          {many(calls.length, "call")} of <a href={to("executions", approval.execution)}>{shortId(approval.execution)}</a>
        </h2>
        <Status value={approval.standing} />
      </header>
      <Facts
        of={{
          "Asked by": approval.caller,
          Session: approval.session,
          Asked: <Time at={approval.created} />,
          Expires: approval.standing === "pending" ? left(approval.expires - now) : null,
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
            standing={approval.standing}
            toggle={() => toggle(call.number)}
          />
        ))}
      </ol>
      <Failure error={decide.error} />
      {own && approval.standing === "pending" && <p class="callout">You asked for this: somebody else has to decide.</p>}
      {isOpen && (
        <p class="actions">
          <button type="button" disabled={decide.busy} onClick={() => decide.run("all")}>
            Approve all
          </button>
          <button
            type="button"
            class="plain"
            disabled={decide.busy || !chosen.size}
            onClick={() => decide.run([...chosen].sort((a, b) => a - b))}
          >
            Approve chosen ({chosen.size})
          </button>
          <button type="button" class="danger" disabled={decide.busy} onClick={() => decide.run("none")}>
            Deny
          </button>
        </p>
      )}
      {approval.standing === "approved" && (
        <p class="quiet">
          The calls are made when the execution is resumed: <code>resume="{approval.execution}"</code>, or its page.
        </p>
      )}
    </article>
  );
}

function Planned({ call, isOpen, chosen, standing, toggle }) {
  const id = useId();
  const refused = standing === "expired" ? "expired" : "denied"; // whatever became of the rest of the plan
  const verdict = standing === "pending" || !call.needs_approval ? null : chosen ? "approved" : refused;
  return (
    <li>
      <p class="planned-head">
        {isOpen && call.needs_approval && <input type="checkbox" id={id} checked={chosen} onChange={toggle} />}
        <label htmlFor={isOpen && call.needs_approval ? id : undefined}>
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
