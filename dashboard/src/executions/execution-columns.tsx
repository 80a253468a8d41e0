// The columns of the list of executions.
import { get } from "../api/client.ts";
import type { Execution } from "../api/shapes.ts";
import { linkTo } from "../hooks/route.ts";
import { SessionName } from "../parts/session-name.tsx";
import { Status, Time } from "../parts/status.tsx";
import type { Column } from "../parts/table.tsx";
import { formatMs, shortenId } from "../text/format.ts";

const MOST = 1000; // plans that the service lists at once

/** The ids of executions whose plan still waits; null if there are too many plans to know. */
type Waiting = Set<string> | null | undefined;

/** Loads which executions wait for a decision. */
export async function loadWaiting(signal: AbortSignal): Promise<Waiting> {
  const plans = await get("/approvals", { limit: MOST }, signal);
  return plans.length < MOST ? new Set(plans.map((plan) => plan.execution)) : null;
}

export const listColumns = (waiting: Waiting): Column<Execution>[] => [
  {
    name: "Execution",
    tight: true,
    cell: (row) => (
      <a href={linkTo("executions", row.id)}>
        <code>{shortenId(row.id)}</code>
      </a>
    ),
  },
  { name: "Status", cell: (row) => <ListedStatus row={row} waiting={waiting} /> },
  { name: "Began", tight: true, cell: (row) => <Time at={row.time} /> },
  { name: "Took", right: true, tight: true, cell: (row) => formatMs(row.ms ?? row.outcome?.execution_time_ms) },
  { name: "Called", widest: true, cell: (row) => <About row={row} /> },
  { name: "Session", wide: true, cell: (row) => row.session && <SessionName name={row.session} caller={row.caller} /> },
  { name: "Caller", widest: true, cell: (row) => <span class="named">{row.caller}</span> },
];

/** The tools that it called; of a program that called none, its first telling line. */
const About = ({ row }: { row: Execution }) =>
  row.title ? <span class="named">{row.title}</span> : row.about ? <code class="about">{row.about}</code> : null;

/** The record says that the execution asked for approval; the waiting plans say whether a decision is still missing. */
const ListedStatus = ({ row, waiting }: { row: Execution; waiting: Waiting }) =>
  row.status === "awaiting_approval" && waiting && !waiting.has(row.id) ? (
    <Status value="withdrawn">no longer waits</Status>
  ) : (
    <>
      <Status value={row.status} />
      {row.reason && row.status !== "ok" && <small class="reason">{row.reason}</small>}
    </>
  );
