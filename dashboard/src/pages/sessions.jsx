// Sessions and the files in their workspaces.
import { get, path, query, remove } from "../api.js";
import { Crumbs, Empty, Facts, Failure, Header, Loaded, Time } from "../parts/basics.jsx";
import { Files } from "../parts/files.jsx";
import { Sure } from "../parts/sure.jsx";
import { Table } from "../parts/table.jsx";
import { Spent } from "../parts/tokens.jsx";
import { to, withAsked } from "../route.js";
import { may, useAction, useLoad, useWho } from "../state.js";
import { count, left } from "../words.js";

const MOST = 1000; // as many as the service tells

const COLUMNS = [
  {
    name: "Session",
    cell: (row) => (
      <a class="named" href={to("sessions", row.id)}>
        {row.name}
      </a>
    ),
  },
  { name: "Last used", tight: true, cell: (row) => <Time at={row.used} /> },
  { name: "Kept", tight: true, cell: (row) => left(row.expires - Date.now() / 1000) },
  { name: "Caller", wide: true, cell: (row) => <span class="named">{row.caller}</span> },
  { name: "Opened", widest: true, tight: true, cell: (row) => <Time at={row.created} /> },
];

export function Sessions() {
  const who = useWho();
  const list = useLoad((signal) => get(`sessions?limit=${MOST}`, signal), [], { every: 10_000 });
  const lead = "Names under which variables and files stay between executions.";
  return (
    <>
      <Header title="Sessions" lead={may(who, "admin") ? lead : `${lead} Yours: an admin sees those of the whole tenant.`} />
      <Loaded of={list}>
        {(rows) => (
          <>
            {rows.length ? <Table caption="Sessions" columns={COLUMNS} rows={rows} /> : <None who={who} />}
            {rows.length === MOST && <p class="quiet">These are the {count(MOST)} that were used last.</p>}
          </>
        )}
      </Loaded>
    </>
  );
}

const None = ({ who }) =>
  may(who, "execute", "admin") ? (
    <Empty title={may(who, "admin") ? "There is no session." : "You have no session."}>
      <p>
        One begins with its first execution: give a name as <code>session</code>, for example in the{" "}
        <a href={to("playground")}>playground</a>.
      </p>
    </Empty>
  ) : (
    <Empty title="Your token does not show sessions.">
      <p>
        What is in a session belongs to whoever opened it: its caller sees it, and an <code>admin</code> of the tenant. Yours has
        the scopes {who.scopes.join(", ")}; with <code>read</code> you see what was executed in sessions, under{" "}
        <a href={to("executions")}>Executions</a>.
      </p>
    </Empty>
  );

/** A session by its name or id. Names of old may hold a slash, which no address can: these are looked up. */
async function find(name, signal) {
  if (!name.includes("/")) return get(`sessions/${path(name)}`, signal);
  const all = await get(`sessions?limit=${MOST}`, signal);
  return all.find((session) => session.name === name) || null;
}

export function Session({ name }) {
  const who = useWho();
  const found = useLoad((signal) => find(name, signal), [name]);
  const session = found.value;
  const isMissing = session === null || found.error?.status === 404;
  const end = useAction(async () => {
    await remove(`sessions/${path(session.id)}`);
    location.hash = to("sessions");
  });
  return (
    <>
      <Crumbs>
        <a href={to("sessions")}>Sessions</a>
      </Crumbs>
      <Header title={session?.name || name} tab={`Session ${session?.name || name}`}>
        {session && may(who, "execute") && (
          <Sure label="End session" ask="End it, with its files and skills" onConfirm={end.run} />
        )}
      </Header>
      <Failure error={end.error} />
      {isMissing && <Missing name={name} who={who} />}
      {!isMissing && <Loaded of={found}>{(one) => <Contents session={one} who={who} />}</Loaded>}
    </>
  );
}

const Missing = ({ name, who }) => (
  <Empty title="There is no such session in your sight.">
    <p>
      It was ended, has expired, or never was
      {may(who, "admin") ? "" : ", or it is somebody else's: then its caller and an admin of the tenant can open it"}. What was
      executed in it is on record: <a href={withAsked(to("executions"), { session: name })}>its executions</a>.
    </p>
  </Empty>
);

function Contents({ session, who }) {
  return (
    <>
      <Facts
        of={{
          Caller: session.caller,
          Opened: <Time at={session.created} />,
          "Last used": <Time at={session.used} />,
          Kept: left(session.expires - Date.now() / 1000),
          Id: <code>{session.id}</code>,
          Executions: <a href={withAsked(to("executions"), { session: session.name })}>show</a>,
        }}
      />
      <Files session={session.id} mayChange={may(who, "execute")} />
      <Skills session={session} />
      {may(who, "read", "admin") && <Spent of={{ session: session.name }} />}
    </>
  );
}

const SKILLS = (session) => [
  {
    name: "Skill",
    cell: (row) => (
      <a class="named" href={withAsked(to("skills", row.name), { session: session.id })}>
        {row.name}
      </a>
    ),
  },
  { name: "Version", right: true, tight: true, cell: (row) => row.version },
  { name: "Tested", tight: true, cell: (row) => (row.tested ? "yes" : "no") },
  { name: "Saved", wide: true, tight: true, cell: (row) => <Time at={row.created} /> },
];

/** Those that only code of this session finds; the others have a page of their own. */
function Skills({ session }) {
  const list = useLoad((signal) => get(`skills${query({ session: session.id })}`, signal), [session.id]);
  return (
    <section aria-labelledby="skills">
      <h2 id="skills">Skills of this session</h2>
      <Loaded of={list}>
        {(all) => {
          const rows = all.filter((skill) => skill.level === "session");
          return rows.length ? (
            <Table caption="Skills of this session" columns={SKILLS(session)} rows={rows} id={(row) => row.name} />
          ) : (
            <p class="quiet">
              None: code keeps one here with <code>save(function, level="session")</code>.
            </p>
          );
        }}
      </Loaded>
    </section>
  );
}
