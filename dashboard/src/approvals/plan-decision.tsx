// The bar that decides about a plan. Its one button follows the boxes, and the line above says what a partial decision leads to.
import type { PlannedCall } from "../api/shapes.ts";
import type { Action } from "../hooks/use-action.ts";
import { formatTimeLeft, listNumbers } from "../text/format.ts";

/** Which calls are approved: all, none, or those with these numbers. */
export type Decision = "all" | "none" | number[];

interface PlanDecisionProps {
  calls: PlannedCall[];
  chosen: ReadonlySet<number>;
  decide: Action<[Decision]>;
  /** Seconds until the plan expires. */
  left: number;
  of: string;
}

export function PlanDecision({ calls, chosen, decide, left, of }: PlanDecisionProps) {
  const asked = calls.filter((call) => call.needs_approval);
  const ticked = asked.filter((call) => chosen.has(call.number)).map((call) => call.number);
  const isAll = ticked.length === asked.length;
  const label =
    asked.length === 1 ? "Approve" : isAll ? `Approve all ${asked.length}` : `Approve ${ticked.length} of ${asked.length}`;
  return (
    <div class="decide" role="group" aria-label={`Decision about ${of}`}>
      {!isAll && ticked.length > 0 && <Consequences calls={calls} chosen={chosen} />}
      <p class="actions">
        <button
          type="button"
          aria-busy={decide.busy}
          aria-label={`${label}: ${of}`}
          disabled={!ticked.length}
          onClick={() => decide.run(isAll ? "all" : ticked)}
        >
          {label}
        </button>
        <button
          type="button"
          class="danger"
          aria-busy={decide.busy}
          aria-label={`Deny all: ${of}`}
          onClick={() => decide.run("none")}
        >
          {asked.length === 1 ? "Deny" : "Deny all"}
        </button>
        <span class="quiet">{formatTimeLeft(left)}</span>
      </p>
    </div>
  );
}

/** The program runs again with the decision: it makes what comes before a denied call, and is told there. */
function Consequences({ calls, chosen }: { calls: PlannedCall[]; chosen: ReadonlySet<number> }) {
  const denied = calls.filter((call) => call.needs_approval && !chosen.has(call.number));
  const first = denied[0]?.number ?? 0;
  const made = calls.filter((call) => !denied.includes(call));
  const before = made.filter((call) => call.number < first).map((call) => call.number);
  const after = made.filter((call) => call.number > first).map((call) => call.number);
  return (
    <p class="consequences" role="status">
      {listNumbers(
        "Call",
        denied.map((call) => call.number),
      )}{" "}
      will be refused: the program is told “the approver said no; do not try it again” at call {first}.{" "}
      {before.length
        ? `By then ${listNumbers("call", before)} will already have happened.`
        : "Nothing of the plan will have happened by then."}
      {after.length > 0 &&
        ` ${listNumbers("Call", after)} ${after.length === 1 ? "happens" : "happen"} only if the program goes on after that.`}
    </p>
  );
}
