// The button that resumes an execution, if that helps.
import { post } from "../api/client.ts";
import type { Approval, Execution } from "../api/shapes.ts";
import { findPlanState } from "../approvals/plan-state.tsx";
import { linkTo } from "../hooks/route.ts";
import { useAction } from "../hooks/use-action.ts";
import { hasScope, useWho } from "../hooks/who.ts";
import type { ResumeHistory } from "./resumes.tsx";

/** `main`: resuming is the next step; `plain`: it may help; null: it does not help. */
type Look = "main" | "plain" | null;

/** `approval` is undefined while it is loaded, and null if no plan is kept. */
function chooseLook(execution: Execution, approval: Approval | null | undefined, { resumedBy }: ResumeHistory): Look {
  if (execution.status === "ok" || (execution.status === "refused" && !execution.calls?.length)) return null;
  if (execution.status === "interrupted") return resumedBy.length ? "plain" : "main";
  if (execution.status !== "awaiting_approval") return "plain";
  // Resuming withdraws a plan that waits. Calls that were approved are made only once.
  if (!approval) return approval === null ? "plain" : null;
  const state = findPlanState(approval);
  if (state === "approved") return resumedBy.length ? null : "main";
  return state === "denied" || state === "expired" ? "plain" : null;
}

export function useResume(execution: Execution, approval: Approval | null | undefined, history: ResumeHistory) {
  const who = useWho();
  const action = useAction(async () => {
    const body = { resume: execution.id, session: execution.session, background: true };
    const { id } = await post("/execute", {}, body);
    location.hash = linkTo("executions", id);
  });
  const isMine = hasScope(who, "execute") && execution.caller === who?.caller;
  return { ...action, look: isMine ? chooseLook(execution, approval, history) : null };
}

export const ResumeButton = ({ of: { look, busy, run } }: { of: ReturnType<typeof useResume> }) =>
  look && (
    <button type="button" class={look === "plain" ? "plain" : ""} aria-busy={busy} onClick={() => run()}>
      Resume
    </button>
  );
