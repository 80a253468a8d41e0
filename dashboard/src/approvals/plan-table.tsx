// The calls of a plan to one tool: a row for each, a column for each argument that is not the same in all of them.
import { useId } from "preact/hooks";
import type { PlannedCall } from "../api/shapes.ts";
import { Facts } from "../parts/facts.tsx";
import { Status } from "../parts/status.tsx";
import { Diff } from "../parts/text-boxes.tsx";
import { pluralize } from "../text/format.ts";
import { revealHidden } from "../text/visible-text.ts";
import { describeRule } from "../text/words.ts";
import type { PlanState } from "./plan-state.tsx";
import { compareArguments, PlannedValue } from "./planned-values.tsx";

/** A call with the arguments that are shown: with masks, or without them. */
export interface ShownCall extends PlannedCall {
  shown: Record<string, unknown>;
}

interface PlanTableProps {
  tool: string;
  calls: ShownCall[];
  description?: { description: string; is_cut: boolean };
  /** Whether the user can decide now. */
  isOpen: boolean;
  /** The numbers of the calls that are ticked, or were approved. */
  chosen: ReadonlySet<number>;
  state: PlanState;
  /** Ticks or unticks calls. */
  tick: (numbers: number[], isTicked: boolean) => void;
}

export function PlanTable({ tool, calls, description, isOpen, chosen, state, tick }: PlanTableProps) {
  const id = useId();
  const { same, varying } = compareArguments(calls.map((call) => call.shown));
  const asked = calls.filter((call) => call.needs_approval).map((call) => call.number);
  const ticked = asked.filter((number) => chosen.has(number)).length;
  const facts = Object.fromEntries(
    Object.entries(same).map(([name, value]) => [name, <PlannedValue key={name} value={value} />]),
  );
  const width = varying.length + 2 + (isOpen ? 1 : 0);
  return (
    <section class="plan-tool" aria-labelledby={id}>
      <h3 id={id}>
        <code>{tool}</code> <span class="quiet">{pluralize(calls.length, "call")}</span>
      </h3>
      {description && (
        <p class="quiet described">
          {description.description}
          {description.is_cut && " … (the rest is on the page of the tool)"}
        </p>
      )}
      <Rules calls={calls} />
      {Object.keys(facts).length > 0 && (
        <>
          <p class="quiet small">The same in all {calls.length}:</p>
          <Facts of={facts} />
        </>
      )}
      <div class="table plan-calls">
        <table>
          <caption class="unseen">Calls of {tool}</caption>
          <thead>
            <tr>
              {isOpen && (
                <th scope="col" class="tight">
                  {asked.length > 1 ? (
                    <input
                      type="checkbox"
                      aria-label={`All calls of ${tool}`}
                      checked={ticked === asked.length}
                      indeterminate={ticked > 0 && ticked < asked.length}
                      onChange={(event) => tick(asked, event.currentTarget.checked)}
                    />
                  ) : (
                    <span class="unseen">Approve</span>
                  )}
                </th>
              )}
              <th scope="col" class="tight">
                Call
              </th>
              {varying.map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
              <th scope="col" class="tight">
                <span class="unseen">Note</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {calls.map((call) => (
              <Row
                key={call.number}
                call={call}
                varying={varying}
                width={width}
                isOpen={isOpen}
                isChosen={chosen.has(call.number)}
                state={state}
                tick={(isTicked) => tick([call.number], isTicked)}
              />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** Why these calls need approval: once for all of them, if the reason is the same. */
function Rules({ calls }: { calls: ShownCall[] }) {
  const rules = [...new Set(calls.filter((call) => call.needs_approval).map((call) => describeRule(call.rule)))];
  return rules.length ? <p class="small">{rules.map((rule) => `Needs approval: ${rule}.`).join(" ")}</p> : null;
}

interface RowProps {
  call: ShownCall;
  varying: string[];
  width: number;
  isOpen: boolean;
  isChosen: boolean;
  state: PlanState;
  tick: (isTicked: boolean) => void;
}

function Row({ call, varying, width, isOpen, isChosen, state, tick }: RowProps) {
  const notApproved = state === "expired" || state === "withdrawn" ? state : "denied";
  const verdict = state === "pending" || !call.needs_approval ? null : isChosen ? "approved" : notApproved;
  const isOut = isOpen && call.needs_approval && !isChosen;
  return (
    <>
      <tr class={isOut ? "out" : ""}>
        {isOpen && (
          <td class="tight">
            {call.needs_approval && (
              <input
                type="checkbox"
                aria-label={`Call ${call.number}: ${call.tool}`}
                checked={isChosen}
                onChange={(event) => tick(event.currentTarget.checked)}
              />
            )}
          </td>
        )}
        <td class="tight">{call.number}</td>
        {varying.map((name) => (
          <td key={name} data-name={revealHidden(name)}>
            {name in call.shown ? <PlannedValue value={call.shown[name]} /> : <span class="quiet">–</span>}
          </td>
        ))}
        <td class="tight small">
          {verdict && <Status value={verdict} />}
          {!call.needs_approval && <span class="quiet">needs no approval, waits its turn</span>}
        </td>
      </tr>
      {call.was_lost && (
        <tr>
          <td colSpan={width}>
            <p class="callout">Call {call.number} was sent before and its answer was lost: approving it may do it twice.</p>
          </td>
        </tr>
      )}
      {call.diff && (
        <tr>
          <td colSpan={width}>
            <Diff text={call.diff} label={`What call ${call.number} would change`} />
          </td>
        </tr>
      )}
    </>
  );
}
