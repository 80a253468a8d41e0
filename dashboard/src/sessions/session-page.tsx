// The page of one session: its files, its skills and its tokens.
import { get, remove } from "../api/client.ts";
import type { Session, Who } from "../api/shapes.ts";
import { linkTo, withFilters } from "../hooks/route.ts";
import { useAction } from "../hooks/use-action.ts";
import { useLoad } from "../hooks/use-load.ts";
import { hasScope, useWho } from "../hooks/who.ts";
import { ConfirmButton } from "../parts/confirm-button.tsx";
import { Empty } from "../parts/empty.tsx";
import { Facts } from "../parts/facts.tsx";
import { Failure, Loaded } from "../parts/loading.tsx";
import { Crumbs, Header } from "../parts/page-header.tsx";
import { Time } from "../parts/status.tsx";
import { TokensOf } from "../parts/tokens.tsx";
import { formatTimeLeft } from "../text/format.ts";
import { Files } from "./files.tsx";
import { SessionSkills } from "./session-skills.tsx";
import { MOST_SESSIONS } from "./sessions-page.tsx";

/** Finds a session by its name or id. Old names may contain a slash, which a path cannot: these are looked up in the list. */
async function findSession(name: string, signal: AbortSignal): Promise<Session | null> {
  if (!name.includes("/")) return get("/sessions/{id}", { id: name }, signal);
  const all = await get("/sessions", { limit: MOST_SESSIONS }, signal);
  return all.find((session) => session.name === name) || null;
}

export function SessionPage({ name }: { name: string }) {
  const who = useWho();
  const found = useLoad((signal) => findSession(name, signal), [name]);
  const session = found.value;
  const isMissing = session === null || found.error?.status === 404;
  const end = useAction(async (id: string) => {
    await remove("/sessions/{id}", { id });
    location.hash = linkTo("sessions");
  });
  return (
    <>
      <Crumbs>
        <a href={linkTo("sessions")}>Sessions</a>
      </Crumbs>
      <Header title={session?.name || name} tab={`Session ${session?.name || name}`}>
        {session && hasScope(who, "execute") && (
          <ConfirmButton label="End session" ask="End it, with its files and skills" onConfirm={() => end.run(session.id)} />
        )}
      </Header>
      <Failure error={end.error} />
      {isMissing ? (
        <Missing name={name} who={who} />
      ) : (
        <Loaded of={found}>{(one) => one && <Contents session={one} who={who} />}</Loaded>
      )}
    </>
  );
}

const Missing = ({ name, who }: { name: string; who: Who | null }) => (
  <Empty title="There is no such session that you can see.">
    <p>
      It was ended, has expired, or never existed
      {hasScope(who, "admin") ? "" : ", or it belongs to another caller: only that caller and an admin of the tenant can open it"}
      . What was executed in it is on record: <a href={withFilters(linkTo("executions"), { session: name })}>its executions</a>.
    </p>
  </Empty>
);

const Contents = ({ session, who }: { session: Session; who: Who | null }) => (
  <>
    <Facts
      of={{
        Caller: session.caller,
        Opened: <Time at={session.created} />,
        "Last used": <Time at={session.used} />,
        Kept: formatTimeLeft(session.expires - Date.now() / 1000),
        Id: <code>{session.id}</code>,
        Executions: <a href={withFilters(linkTo("executions"), { session: session.name })}>show</a>,
      }}
    />
    <Files session={session.id} mayChange={hasScope(who, "execute")} />
    <SessionSkills session={session.id} />
    {hasScope(who, "read", "admin") && <TokensOf of={{ session: session.name }} />}
  </>
);
