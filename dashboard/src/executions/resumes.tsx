// Which execution this one resumed, and which ones resumed it.
import { get } from "../api/client.ts";
import type { AuditRecord, Execution } from "../api/shapes.ts";
import { linkTo } from "../hooks/route.ts";
import { useLoad } from "../hooks/use-load.ts";
import { hasScope, useWho } from "../hooks/who.ts";
import { Status } from "../parts/status.tsx";
import { shortenId } from "../text/format.ts";

const MOST = 1000; // records that the service lists at once

export interface ResumeHistory {
  /** The id of the execution that this one resumed. */
  resumed: string | null;
  /** The records of the executions that resumed this one. */
  resumedBy: AuditRecord[];
}

const NO_HISTORY: ResumeHistory = { resumed: null, resumedBy: [] };

export function useResumeHistory(execution: Execution): ResumeHistory {
  const who = useWho();
  const mayChange = execution.status === "awaiting_approval" || execution.status === "interrupted";
  const load = async (signal: AbortSignal) => (hasScope(who, "read", "admin") ? loadHistory(execution, signal) : NO_HISTORY);
  return useLoad(load, [execution.id, execution.status], { every: mayChange ? 10_000 : 0 }).value || NO_HISTORY;
}

async function loadHistory(execution: Execution, signal: AbortSignal): Promise<ResumeHistory> {
  if (execution.status !== "interrupted") {
    const record = await get("/audit/{id}", { id: execution.id }, signal);
    const resumedBy = record.children.filter((child) => child.kind === "execution" && hasRun(child));
    return { resumed: record.parent || null, resumedBy };
  }
  // An interrupted execution has no record of its own, so the records of the others are searched.
  const query = { kind: "execution", caller: execution.caller, since: execution.time, limit: MOST } as const;
  const { records } = await get("/audit", query, signal);
  return { resumed: null, resumedBy: records.filter((record) => record.parent === execution.id && hasRun(record)) };
}

const hasRun = (record: AuditRecord) => record.status !== "accepted";

export const ResumeNotes = ({ history: { resumed, resumedBy } }: { history: ResumeHistory }) => (
  <>
    {resumed && (
      <p class="callout">
        It resumed <ExecutionLink id={resumed} />: calls that were answered there were not made again.
      </p>
    )}
    {resumedBy.length > 0 && (
      <p class="callout">
        It was resumed as{" "}
        {resumedBy.map((record, place) => (
          <span key={record.id}>
            {place > 0 && ", "}
            <ExecutionLink id={record.id} /> (<Status value={record.status ?? ""} />)
          </span>
        ))}
        .
      </p>
    )}
  </>
);

const ExecutionLink = ({ id }: { id: string }) => <a href={linkTo("executions", id)}>{shortenId(id)}</a>;
