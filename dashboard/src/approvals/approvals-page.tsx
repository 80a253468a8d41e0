// The plans that wait for a person's decision. The caller that asked cannot decide.
import { useState } from "preact/hooks";
import { get } from "../api/client.ts";
import type { Approval } from "../api/shapes.ts";
import { useFilters } from "../hooks/route.ts";
import { useLoad } from "../hooks/use-load.ts";
import { Empty } from "../parts/empty.tsx";
import { Loaded } from "../parts/loading.tsx";
import { Notice } from "../parts/notice.tsx";
import { Header } from "../parts/page-header.tsx";
import { Json } from "../parts/text-boxes.tsx";
import { formatCount, pluralize } from "../text/format.ts";
import { CannotDecide, describeDecision } from "./decisions.tsx";
import { Plan } from "./plan.tsx";
import { StandingRules } from "./standing-rules.tsx";

const MOST = 1000; // plans that the service lists
const SHOWN = 25;
const MANY = 100;

/** Sorts plans that wait by when they expire; decided ones follow, the newest first. */
const sortByUrgency = (plans: Approval[]) => {
  const isPending = (plan: Approval) => plan.standing === "pending";
  const waiting = plans.filter(isPending).sort((one, other) => one.expires - other.expires);
  return [...waiting, ...plans.filter((plan) => !isPending(plan))];
};

export function ApprovalsPage() {
  const [filters, change] = useFilters({ decided: "" });
  const [size, setSize] = useState(0);
  const [notice, setNotice] = useState("");
  const [round, setRound] = useState(0);
  const load = (signal: AbortSignal) => get("/approvals", { pending: !filters.decided, limit: MOST }, signal);
  // A long list is loaded less often.
  const every = size > MANY ? 20_000 : 4000;
  const list = useLoad((signal) => load(signal).then(sortByUrgency), [filters.decided], { every });
  const found = list.value?.length ?? 0;
  if (found !== size) setSize(found);
  const onDecided = (approval: Approval) => {
    setNotice(describeDecision(approval));
    setRound((count) => count + 1);
    list.again();
  };
  return (
    <>
      <Header
        title="Approvals"
        lead="Calls that the policy does not allow without a person. A decision covers exactly these calls, once."
      >
        <label class="check">
          <input
            type="checkbox"
            checked={Boolean(filters.decided)}
            onChange={(event) => change({ decided: event.currentTarget.checked ? "too" : "" })}
          />{" "}
          decided ones, too
        </label>
      </Header>
      <CannotDecide />
      <Notice text={notice} />
      <Loaded of={list}>{(plans) => (plans.length ? <Plans plans={plans} onDecided={onDecided} /> : <NoPlans />)}</Loaded>
      <StandingRules round={round} />
    </>
  );
}

function Plans({ plans, onDecided }: { plans: Approval[]; onDecided: (approval: Approval) => void }) {
  const [shown, setShown] = useState(SHOWN);
  const waiting = plans.filter((plan) => plan.standing === "pending").length;
  const isCut = plans.length === MOST;
  return (
    <>
      <p class="quiet">
        {isCut ? `${formatCount(MOST)} or more` : pluralize(plans.length, "plan")}
        {waiting !== plans.length && `, ${formatCount(waiting)} of them waiting`}
        {plans.length > shown && `; the first ${formatCount(shown)} are shown, the next to expire at the top`}.
        {isCut && ` The service lists the newest ${formatCount(MOST)}: older ones follow when these are decided.`}
      </p>
      {plans.slice(0, shown).map((plan) => (
        <Plan key={plan.id} approval={plan} onDecided={onDecided} />
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

const NoPlans = () => (
  <Empty title="Nothing waits for a decision.">
    <p>
      When code makes a call that needs approval, the run stops before anything is done, and its plan is put here. The policy says
      which calls need approval:
    </p>
    <Json value={'[policy]\nask = ["github.create_*"]'} label="Example" />
  </Empty>
);
