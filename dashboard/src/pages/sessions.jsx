// Sessions and the files in their workspaces.
import { get, path, query, remove } from "../api.js";
import { Empty, Facts, Failure, Header, Loaded, Sure, Time } from "../parts/basics.jsx";
import { Files } from "../parts/files.jsx";
import { Table } from "../parts/table.jsx";
import { Tokens } from "../parts/tokens.jsx";
import { may, to, useAction, useLoad, useWho } from "../state.js";
import { left } from "../words.js";

const COLUMNS = [
  { name: "Session", cell: (row) => <a href={to("sessions", row.id)}>{row.name}</a> },
  { name: "Last used", cell: (row) => <Time at={row.used} /> },
  { name: "Kept", cell: (row) => left(row.expires - Date.now() / 1000) },
  { name: "Caller", wide: true, cell: (row) => row.caller },
  { name: "Opened", wide: true, cell: (row) => <Time at={row.created} /> },
];

export function Sessions() {
  const list = useLoad((signal) => get("sessions?limit=1000", signal), [], { every: 10_000 });
  return (
    <>
      <Header title="Sessions" lead="Names under which variables and files stay between executions." />
      <Loaded of={list}>
        {(rows) =>
          rows.length ? (
            <Table caption="Sessions" columns={COLUMNS} rows={rows} />
          ) : (
            <Empty title="There is no session.">
              <p>
                One begins with its first execution: give a name as <code>session</code>, for example in the{" "}
                <a href={to("playground")}>playground</a>.
              </p>
            </Empty>
          )
        }
      </Loaded>
    </>
  );
}

export function Session({ name }) {
  const found = useLoad((signal) => get(`sessions/${path(name)}`, signal), [name]);
  const who = useWho();
  const end = useAction(async () => {
    await remove(`sessions/${path(name)}`);
    location.hash = to("sessions");
  });
  return (
    <>
      <p class="crumbs">
        <a href={to("sessions")}>Sessions</a>
      </p>
      <Header title={found.value?.name || name}>
        {found.value && may(who, "execute") && (
          <Sure label="End session" ask="End it, with its files" onConfirm={end.run} disabled={end.busy} />
        )}
      </Header>
      <Failure error={end.error} />
      <Loaded of={found}>
        {(session) => (
          <>
            <Facts
              of={{
                Caller: session.caller,
                Opened: <Time at={session.created} />,
                "Last used": <Time at={session.used} />,
                Kept: left(session.expires - Date.now() / 1000),
                Id: <code>{session.id}</code>,
              }}
            />
            <Files session={name} mayChange={may(who, "execute")} />
            {may(who, "read", "admin") && <Spent session={session.name} />}
          </>
        )}
      </Loaded>
    </>
  );
}

/** What the executions of a session cost, against both other ways. */
function Spent({ session }) {
  const stats = useLoad((signal) => get(`stats${query({ session })}`, signal), [session]);
  return <Loaded of={stats}>{({ tokens }) => <Tokens tokens={tokens} />}</Loaded>;
}
