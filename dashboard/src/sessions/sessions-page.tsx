// All sessions that the user sees.
import { get } from "../api/client.ts";
import type { Session, Who } from "../api/shapes.ts";
import { linkTo } from "../hooks/route.ts";
import { useLoad } from "../hooks/use-load.ts";
import { hasScope, useWho } from "../hooks/who.ts";
import { Empty } from "../parts/empty.tsx";
import { Loaded } from "../parts/loading.tsx";
import { Header } from "../parts/page-header.tsx";
import { Time } from "../parts/status.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { formatCount, formatTimeLeft } from "../text/format.ts";

/** How many sessions the service lists at once. */
export const MOST_SESSIONS = 1000;

const COLUMNS: Column<Session>[] = [
  {
    name: "Session",
    cell: (row) => (
      <a class="named" href={linkTo("sessions", row.id)}>
        {row.name}
      </a>
    ),
  },
  { name: "Last used", tight: true, cell: (row) => <Time at={row.used} /> },
  { name: "Kept", tight: true, cell: (row) => formatTimeLeft(row.expires - Date.now() / 1000) },
  { name: "Caller", wide: true, cell: (row) => <span class="named">{row.caller}</span> },
  { name: "Opened", widest: true, tight: true, cell: (row) => <Time at={row.created} /> },
];

export function SessionsPage() {
  const who = useWho();
  const list = useLoad((signal) => get("/sessions", { limit: MOST_SESSIONS }, signal), [], { every: 10_000 });
  const lead = "Names under which variables and files are kept between executions.";
  return (
    <>
      <Header
        title="Sessions"
        lead={hasScope(who, "admin") ? lead : `${lead} These are yours: an admin sees those of the whole tenant.`}
      />
      <Loaded of={list}>
        {(rows) => (
          <>
            {rows.length ? (
              <Table caption="Sessions" columns={COLUMNS} rows={rows} id={(row) => row.id} />
            ) : (
              <NoSessions who={who} />
            )}
            {rows.length === MOST_SESSIONS && (
              <p class="quiet">These are the {formatCount(MOST_SESSIONS)} that were used last.</p>
            )}
          </>
        )}
      </Loaded>
    </>
  );
}

const NoSessions = ({ who }: { who: Who | null }) =>
  hasScope(who, "execute", "admin") ? (
    <Empty title={hasScope(who, "admin") ? "There is no session." : "You have no session."}>
      <p>
        A session begins with its first execution: give a name as <code>session</code>, for example in the{" "}
        <a href={linkTo("playground")}>playground</a>.
      </p>
    </Empty>
  ) : (
    <Empty title="Your token does not show sessions.">
      <p>
        Only the caller who opened a session, and an <code>admin</code> of the tenant, can see it. Your token has the scopes{" "}
        {who?.scopes.join(", ")}; with <code>read</code> you see what was executed in sessions, under{" "}
        <a href={linkTo("executions")}>Executions</a>.
      </p>
    </Empty>
  );
