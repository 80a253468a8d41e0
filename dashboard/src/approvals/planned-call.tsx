// One call of a plan: its tool, and what it would do.
import { useId } from "preact/hooks";
import type { PlannedCall } from "../api/shapes.ts";
import { Status } from "../parts/status.tsx";
import { Diff, Json } from "../parts/text-boxes.tsx";
import type { PlanState } from "./plan-state.tsx";

interface PlannedProps {
  call: PlannedCall;
  /** Whether the user can decide now. */
  isOpen: boolean;
  isChosen: boolean;
  state: PlanState;
  toggle: () => void;
}

export function Planned({ call, isOpen, isChosen, state, toggle }: PlannedProps) {
  const id = useId();
  const notApproved = state === "expired" || state === "withdrawn" ? state : "denied";
  const verdict = state === "pending" || !call.needs_approval ? null : isChosen ? "approved" : notApproved;
  const isAsked = isOpen && call.needs_approval;
  return (
    <li>
      <p class="planned-head">
        {isAsked && <input type="checkbox" id={id} checked={isChosen} onChange={toggle} />}
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
