// The page of one skill: its source, its tests and its versions.
import { get, remove } from "../api/client.ts";
import type { Skill } from "../api/shapes.ts";
import { linkTo, useFilters } from "../hooks/route.ts";
import { useAction } from "../hooks/use-action.ts";
import { useLoad } from "../hooks/use-load.ts";
import { hasScope, useWho } from "../hooks/who.ts";
import { ConfirmButton } from "../parts/confirm-button.tsx";
import { Facts } from "../parts/facts.tsx";
import { Failure, Loaded } from "../parts/loading.tsx";
import { Crumbs, Header } from "../parts/page-header.tsx";
import { Time } from "../parts/status.tsx";
import { Code } from "../parts/text-boxes.tsx";
import { describeLevel } from "./levels.ts";
import { SkillVersions } from "./skill-versions.tsx";

type Level = "session" | "user" | "shared";

export function SkillPage({ name }: { name: string }) {
  const who = useWho();
  const [{ session }] = useFilters({ session: "" });
  const load = (signal: AbortSignal) => get("/skills/{name}", { name, session }, signal);
  const skill = useLoad(load, [name, session]);
  const level = skill.value?.level as Level | undefined;
  const forget = useAction(async () => {
    await remove("/skills/{name}", { name, level, session });
    location.hash = session ? linkTo("sessions", session) : linkTo("skills");
  });
  const mayForget = level && hasScope(who, "execute") && (level !== "shared" || hasScope(who, "admin"));
  return (
    <>
      <Crumbs>
        <a href={linkTo("skills")}>Skills</a>
        {session && (
          <>
            {" "}
            of <a href={linkTo("sessions", session)}>a session</a>
          </>
        )}
      </Crumbs>
      <Header title={name} tab={`Skill ${name}`}>
        {mayForget && <ConfirmButton label="Forget" ask="Forget every version" onConfirm={forget.run} />}
      </Header>
      <Failure error={forget.error} />
      <Loaded of={skill}>{(found) => <Contents skill={found} session={session} />}</Loaded>
    </>
  );
}

const Contents = ({ skill, session }: { skill: Skill; session: string }) => (
  <>
    <Facts
      of={{
        Version: skill.version,
        Tested: skill.tested ? "yes" : "no",
        For: describeLevel(skill.level),
        Caller: skill.caller,
        Saved: <Time at={skill.created} />,
        Requires: skill.requires.join(", ") || "nothing",
        Hash: <code>{skill.hash.slice(0, 12)}</code>,
      }}
    />
    <section>
      <h2>Source</h2>
      <Code text={skill.source ?? ""} label="Source" />
    </section>
    {skill.tests && (
      <section>
        <h2>Tests</h2>
        <Code text={skill.tests} label="Tests" />
      </section>
    )}
    <SkillVersions name={skill.name} session={session} versions={[...(skill.versions ?? [])].sort((one, other) => other - one)} />
  </>
);
