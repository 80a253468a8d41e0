// Taking an execution up again, where that helps.
import { post } from "../api.js";
import { to } from "../route.js";
import { may, useAction, useWho } from "../state.js";
import { standing } from "./standing.jsx";

/** The main button where resuming is what is missing, a plain one where it may help, none where it does not. */
function wanted(execution, approval, by) {
  if (execution.status === "ok" || (execution.status === "refused" && !execution.calls?.length)) return null;
  if (execution.status === "interrupted") return by.length ? "plain" : "main";
  if (execution.status !== "awaiting_approval") return "plain";
  // While somebody may decide, resuming would withdraw the plan; what was approved is made once.
  if (!approval) return approval === null ? "plain" : null;
  const state = standing(approval);
  if (state === "approved") return by.length ? null : "main";
  return state === "denied" || state === "expired" ? "plain" : null;
}

export function useResume(execution, approval, kin) {
  const who = useWho();
  const action = useAction(async () => {
    const { id } = await post("execute", { resume: execution.id, session: execution.session, background: true });
    location.hash = to("executions", id);
  });
  const isMine = may(who, "execute") && execution.caller === who.caller;
  return { ...action, look: isMine ? wanted(execution, approval, kin.by) : null };
}

export const Resume = ({ of: { look, busy, run } }) =>
  look && (
    <button type="button" class={look === "plain" ? "plain" : ""} aria-busy={busy} onClick={run}>
      Resume
    </button>
  );
