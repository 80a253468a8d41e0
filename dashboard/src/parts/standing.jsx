// What became of the calls that a run asked about: an execution's own status says only that it asked.
import { get, path, query } from "../api.js";
import { to } from "../route.js";
import { may, useLoad, useNow, useWho } from "../state.js";
import { left, many, shortId } from "../words.js";
import { Status } from "./basics.jsx";

const ALL = 1000; // as many as the service tells at once

/** A plan that was not decided in time, or, if its time is not over, was withdrawn because its run was resumed and asked anew. */
export const standing = (approval) =>
  approval.standing === "expired" && approval.expires > Date.now() / 1000 ? "withdrawn" : approval.standing;

/** The plan of an execution; its outcome names it as long as that is kept. */
async function planOf(execution, signal) {
  const id = execution.outcome?.plan?.id;
  if (id) return get(`approvals/${path(id)}`, signal);
  const all = await get(`approvals${query({ pending: false, limit: ALL })}`, signal);
  return all.find((approval) => approval.execution === execution.id) || null;
}

/** The approval that an execution waits or waited for: null where it asked nobody, or nothing is kept of it. */
export function usePlan(execution) {
  const id = execution?.outcome?.plan?.id;
  const asks = execution?.status === "awaiting_approval" && id !== "";
  const load = (signal) => (asks ? planOf(execution, signal) : Promise.resolve(null));
  return useLoad(load, [execution?.id, asks], { every: asks && id ? 5000 : 0 });
}

/** What was resumed by or with an execution: `of` is the one that it took up, `by` are those that took it up. */
export function useKin(execution) {
  const who = useWho();
  const isOpen = execution.status === "awaiting_approval" || execution.status === "interrupted";
  const load = (signal) => (may(who, "read", "admin") ? kin(execution, signal) : Promise.resolve(NO_KIN));
  return useLoad(load, [execution.id, execution.status], { every: isOpen ? 10_000 : 0 }).value || NO_KIN;
}

const NO_KIN = { of: null, by: [] };

async function kin(execution, signal) {
  if (execution.status !== "interrupted") {
    const record = await get(`audit/${path(execution.id)}`, signal);
    return { of: record.parent || null, by: record.children.filter((child) => child.kind === "execution" && isRun(child)) };
  }
  // It has no record of its own that others could be under.
  const asked = { kind: "execution", caller: execution.caller, since: execution.time, limit: ALL };
  const { records } = await get(`audit${query(asked)}`, signal);
  return { of: null, by: records.filter((record) => record.parent === execution.id && isRun(record)) };
}

const isRun = (record) => record.status !== "accepted";

export const Kin = ({ kin: { of, by } }) => (
  <>
    {of && (
      <p class="callout">
        It took up <Run id={of} />: what that one had called was not called again.
      </p>
    )}
    {by.length > 0 && (
      <p class="callout">
        It was resumed as{" "}
        {by.map((one, place) => (
          <span key={one.id}>
            {place > 0 && ", "}
            <Run id={one.id} /> (<Status value={one.status} />)
          </span>
        ))}
        .
      </p>
    )}
  </>
);

const Run = ({ id }) => <a href={to("executions", id)}>{shortId(id)}</a>;

/** Where the plan stands, in a sentence. */
export function Standing({ approval }) {
  const state = standing(approval);
  const now = useNow(state === "pending");
  const asked = approval.plan.calls.filter((call) => call.needs_approval).length;
  const them = asked === 1 ? "it" : "them";
  const told = {
    pending: `${many(asked, "call")} of it ${asked === 1 ? "waits" : "wait"} for a person, ${left(approval.expires - now)}.`,
    approved: `${approval.decided_by} approved ${approval.approved.length} of ${many(asked, "call")}.`,
    denied: `${approval.decided_by} denied ${many(asked, "call")} of it. Resumed, the program is told so where it makes ${them}.`,
    expired: `Nobody decided in time about ${many(asked, "call")} of it. Resumed, it asks again.`,
    withdrawn: "It was resumed before anybody decided, and asked anew there.",
  };
  return (
    <p class="callout">
      {told[state]} <a href={to("approvals", approval.id)}>See the plan</a>
    </p>
  );
}
