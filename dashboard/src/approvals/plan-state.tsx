// What became of the calls that an execution asked about. The status of the execution only says that it asked.
import { get } from "../api/client.ts";
import type { Approval, Execution } from "../api/shapes.ts";
import { linkTo } from "../hooks/route.ts";
import { useNow } from "../hooks/time.ts";
import { type Load, useLoad } from "../hooks/use-load.ts";
import { formatTimeLeft, pluralize } from "../text/format.ts";

const MOST = 1000; // plans that the service lists at once

export type PlanState = Approval["standing"] | "withdrawn";

/** A plan that is `expired` before its time is over was withdrawn: its execution was resumed and asked again. */
export const findPlanState = ({ standing, expires }: Approval): PlanState =>
  standing === "expired" && expires > Date.now() / 1000 ? "withdrawn" : standing;

type Asking = Pick<Execution, "id" | "status" | "outcome">;

/** Loads the plan of an execution. Its outcome names the plan, as long as the outcome is kept. */
async function loadPlan(execution: Asking, signal: AbortSignal): Promise<Approval | null> {
  const id = execution.outcome?.plan?.id;
  if (id) return get("/approvals/{id}", { id }, signal);
  const all = await get("/approvals", { pending: false, limit: MOST }, signal);
  return all.find((approval) => approval.execution === execution.id) || null;
}

/** The plan that an execution waits or waited for; null if it did not ask, or if no plan is kept. */
export function usePlan(execution: Asking | null): Load<Approval | null> {
  const id = execution?.outcome?.plan?.id;
  const asks = execution?.status === "awaiting_approval" && id !== "";
  const load = async (signal: AbortSignal) => (asks ? loadPlan(execution, signal) : null);
  return useLoad(load, [execution?.id, asks], { every: asks && id ? 5000 : 0 });
}

/** The state of a plan as a sentence. */
export function PlanSentence({ approval }: { approval: Approval }) {
  const state = findPlanState(approval);
  const now = useNow(state === "pending");
  const asked = approval.plan.calls.filter((call) => call.needs_approval).length;
  const calls = pluralize(asked, "call");
  const sentences: Record<PlanState, string> = {
    pending: `${calls} of it ${asked === 1 ? "waits" : "wait"} for a person, ${formatTimeLeft(approval.expires - now)}.`,
    approved: `${approval.decided_by} approved ${approval.approved.length} of ${calls}.`,
    denied: `${approval.decided_by} denied ${calls} of it. If it is resumed, ${asked === 1 ? "that call raises" : "those calls raise"} an error.`,
    expired: `${calls} of it expired before a decision. If it is resumed, it asks again.`,
    withdrawn: "It was resumed before a decision, and asked again there.",
  };
  return (
    <p class="callout">
      {sentences[state]} <a href={linkTo("approvals", approval.id)}>See the plan</a>
    </p>
  );
}
