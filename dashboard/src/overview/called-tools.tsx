// Which tools were called, how long they took and how often they failed, in the last calls on record.
import { useState } from "preact/hooks";
import { get } from "../api/client.ts";
import type { AuditRecord } from "../api/shapes.ts";
import { linkTo } from "../hooks/route.ts";
import { useLoad } from "../hooks/use-load.ts";
import { Loaded } from "../parts/loading.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { formatCount, formatMs, pluralize } from "../text/format.ts";
import { splitKey } from "../tools/tool-key.ts";
import { findQuantile } from "./quantile.ts";

const SAMPLE = 1000;
const SHOWN = 8;

interface CalledTool {
  tool: string;
  /** The durations of its calls in milliseconds, sorted. */
  times: number[];
  errors: number;
}

/** Whether a record is of a real call. A call that waits for approval was not made: it took no time and did not fail. */
const wasMade = ({ tool, status }: AuditRecord) => tool && !tool.startsWith("gristmill.") && status !== "planned";

function groupByTool(records: AuditRecord[]): CalledTool[] {
  const found = new Map<string, CalledTool>();
  for (const { tool = "", ms, status } of records) {
    const row = found.get(tool) || { tool, times: [], errors: 0 };
    row.times.push(ms || 0);
    row.errors += status === "ok" ? 0 : 1;
    found.set(tool, row);
  }
  for (const row of found.values()) row.times.sort((a, b) => a - b);
  return [...found.values()].sort((one, other) => other.times.length - one.times.length);
}

const COLUMNS: Column<CalledTool>[] = [
  { name: "Tool", cell: (row) => <a href={linkTo("tools", ...splitKey(row.tool))}>{row.tool}</a> },
  { name: "Calls", right: true, cell: (row) => formatCount(row.times.length) },
  {
    name: "Errors",
    right: true,
    cell: (row) => <span class={row.errors ? "bad-text" : "quiet"}>{formatCount(row.errors)}</span>,
  },
  { name: "Median", right: true, cell: (row) => formatMs(findQuantile(row.times, 0.5)) },
  { name: "95th percentile", wide: true, right: true, cell: (row) => formatMs(findQuantile(row.times, 0.95)) },
];

/** Loads again when `round` changes. */
export function CalledTools({ round, since }: { round: number; since: number }) {
  const list = useLoad((signal) => get("/audit", { kind: "call", limit: SAMPLE, since }, signal), [], { round });
  return <Loaded of={list}>{({ records }) => <ToolTable records={records.filter(wasMade)} />}</Loaded>;
}

function ToolTable({ records }: { records: AuditRecord[] }) {
  const [isWhole, setWhole] = useState(false);
  const rows = groupByTool(records);
  if (!rows.length) return null;
  return (
    <section aria-labelledby="calls">
      <h2 id="calls">
        Tools that were called <small class="quiet">in the last {pluralize(records.length, "call")} on record</small>
      </h2>
      <Table
        caption="Tools that were called"
        columns={COLUMNS}
        rows={isWhole ? rows : rows.slice(0, SHOWN)}
        id={(row) => row.tool}
      />
      {rows.length > SHOWN && (
        <button type="button" class="plain" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? `Only the ${SHOWN} most called` : `All ${rows.length} tools`}
        </button>
      )}
    </section>
  );
}
