// Who did what: the executions of the chosen time by caller and by session. Each row leads to its executions.
import type { Execution } from "../api/shapes.ts";
import { linkTo, withFilters } from "../hooks/route.ts";
import { type Column, Table } from "../parts/table.tsx";
import { formatCount, formatMs } from "../text/format.ts";
import { isError } from "./time-buckets.ts";

const MOST = 8;

interface Group {
  name: string;
  count: number;
  errors: number;
  ms: number;
}

function groupBy(rows: Execution[], pick: (row: Execution) => string | null | undefined): Group[] {
  const found = new Map<string, Group>();
  for (const row of rows) {
    const name = pick(row);
    if (!name) continue;
    const group = found.get(name) ?? { name, count: 0, errors: 0, ms: 0 };
    group.count += 1;
    group.errors += isError({ ...row, time: 0 }) ? 1 : 0;
    group.ms += row.ms ?? 0;
    found.set(name, group);
  }
  return [...found.values()].sort((one, other) => other.count - one.count).slice(0, MOST);
}

const listColumns = (title: string, filter: "caller" | "session", since: number): Column<Group>[] => {
  const lead = (name: string, more: object) =>
    withFilters(linkTo("executions"), { [filter]: name, since: String(since), ...more });
  return [
    {
      name: title,
      cell: (row) => (
        <a class="named" href={lead(row.name, {})}>
          {row.name}
        </a>
      ),
    },
    { name: "Executions", right: true, tight: true, cell: (row) => formatCount(row.count) },
    {
      name: "Errors",
      right: true,
      tight: true,
      cell: (row) => <span class={row.errors ? "bad-text" : "quiet"}>{formatCount(row.errors)}</span>,
    },
    { name: "Time", right: true, tight: true, cell: (row) => formatMs(row.ms) },
  ];
};

export function Breakdown({ rows, since }: { rows: Execution[]; since: number }) {
  const callers = groupBy(rows, (row) => row.caller);
  const sessions = groupBy(rows, (row) => row.session);
  return (
    <section aria-labelledby="who-did">
      <h2 id="who-did">By caller and session</h2>
      <div class="charts">
        <Table caption="By caller" columns={listColumns("Caller", "caller", since)} rows={callers} id={(row) => row.name} />
        {sessions.length > 0 && (
          <Table caption="By session" columns={listColumns("Session", "session", since)} rows={sessions} id={(row) => row.name} />
        )}
      </div>
    </section>
  );
}
