// Plans that wait for a person. Whoever asked does not answer.
import { useState } from "preact/hooks";
import { get, path, query } from "../api.js";
import { Crumbs, Empty, Header, Loaded } from "../parts/basics.jsx";
import { Plan } from "../parts/plan.jsx";
import { Said } from "../parts/sure.jsx";
import { Json } from "../parts/text.jsx";
import { to, useAsked } from "../route.js";
import { may, useLoad, useWho } from "../state.js";
import { count, many, shortId } from "../words.js";

const MOST = 1000; // as many as the service tells
const SHOWN = 25;
const MANY = 100;

/** Those that wait come first, and of these whatever expires first; then what was decided, the newest first. */
const urgentFirst = (plans) => {
  const isPending = (plan) => plan.standing === "pending";
  const waiting = plans.filter(isPending).sort((one, other) => one.expires - other.expires);
  return [...waiting, ...plans.filter((plan) => !isPending(plan))];
};

export function Approvals() {
  const [asked, set] = useAsked({ decided: "" });
  const [size, setSize] = useState(0);
  const load = (signal) => get(`approvals${query({ pending: !asked.decided, limit: MOST })}`, signal);
  const list = useLoad((signal) => load(signal).then(urgentFirst), [asked.decided], { every: size > MANY ? 20_000 : 4000 });
  const [said, setSaid] = useState("");
  const found = list.value?.length ?? 0;
  if (found !== size) setSize(found); // many plans are much to ask for every few seconds
  return (
    <>
      <Header
        title="Approvals"
        lead="Calls that the policy does not allow without a person. A decision covers exactly these calls, once."
      >
        <label class="check">
          <input
            type="checkbox"
            checked={Boolean(asked.decided)}
            onChange={(event) => set({ decided: event.currentTarget.checked ? "too" : "" })}
          />{" "}
          decided ones, too
        </label>
      </Header>
      <Cannot />
      <Said text={said} />
      <Loaded of={list}>
        {(plans) => (plans.length ? <Plans plans={plans} decided={decided(setSaid, list.again)} /> : <None />)}
      </Loaded>
    </>
  );
}

const decided = (say, again) => (approval) => {
  const calls = `${approval.approved.length} of ${many(approval.plan.calls.filter((call) => call.needs_approval).length, "call")}`;
  say(`${approval.standing === "approved" ? `Approved: ${calls}` : "Denied: all calls"} of ${shortId(approval.execution)}.`);
  again();
};

function Plans({ plans, decided }) {
  const [shown, setShown] = useState(SHOWN);
  const waiting = plans.filter((plan) => plan.standing === "pending").length;
  const isCut = plans.length === MOST;
  return (
    <>
      <p class="quiet">
        {isCut ? `${count(MOST)} or more` : many(plans.length, "plan")}
        {waiting !== plans.length && `, ${count(waiting)} of them waiting`}
        {plans.length > shown && `; shown are ${count(shown)}, first those that expire first`}.
        {isCut && ` The service tells the newest ${count(MOST)}: older ones follow as these are decided.`}
      </p>
      {plans.slice(0, shown).map((plan) => (
        <Plan key={plan.id} approval={plan} decided={decided} />
      ))}
      {plans.length > shown && (
        <p class="actions more">
          <button type="button" class="plain" onClick={() => setShown(shown + SHOWN)}>
            More
          </button>
        </p>
      )}
    </>
  );
}

const None = () => (
  <Empty title="Nothing waits for a decision.">
    <p>
      When code makes a call that the policy asks about, the run stops before anything is done, and its plan is put here. Which
      calls ask is set in the policy:
    </p>
    <Json value={'[policy]\nask = ["github.create_*"]'} label="Example" />
  </Empty>
);

export function Approval({ id }) {
  const found = useLoad((signal) => get(`approvals/${path(id)}`, signal), [id], { every: 4000 });
  const [said, setSaid] = useState("");
  const of = found.value ? ` of ${shortId(found.value.execution)}` : "";
  return (
    <>
      <Crumbs>
        <a href={to("approvals")}>Approvals</a>
      </Crumbs>
      <Header title={`Plan${of}`} />
      {found.value && <Cannot />}
      <Said text={said} />
      <Loaded of={found}>{(approval) => <Plan approval={approval} decided={decided(setSaid, found.again)} />}</Loaded>
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
