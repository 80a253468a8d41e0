// Functions that code saved for later, version by version.
import { useState } from "preact/hooks";
import { get, path, query, remove } from "../api.js";
import { Choice, Crumbs, Empty, Facts, Failure, Field, Header, Loaded, Time } from "../parts/basics.jsx";
import { Sure } from "../parts/sure.jsx";
import { Table } from "../parts/table.jsx";
import { Code, Diff, Plain } from "../parts/text.jsx";
import { to, useAsked } from "../route.js";
import { may, useAction, useLoad, useWho } from "../state.js";

/** Who finds a skill. */
const LEVELS = { session: "one session", user: "its caller", shared: "the whole tenant" };

const COLUMNS = [
  {
    name: "Skill",
    cell: (row) => (
      <a class="named" href={to("skills", row.name)}>
        {row.name}
      </a>
    ),
  },
  { name: "Version", right: true, tight: true, cell: (row) => row.version },
  { name: "Tested", tight: true, cell: (row) => (row.tested ? "yes" : "no") },
  { name: "For", wide: true, tight: true, cell: (row) => LEVELS[row.level] || row.level },
  { name: "Saved", wide: true, tight: true, cell: (row) => <Time at={row.created} /> },
  { name: "Requires", widest: true, cell: (row) => <span class="named">{row.requires.join(", ") || "–"}</span> },
];

const EXAMPLE =
  'from skills import save\n\ndef double(n: int) -> int:\n    """Twice a number."""\n    return n * 2\n\nsave(double, tests="assert double(2) == 4", level="user")';

export function Skills() {
  const who = useWho();
  const list = useLoad((signal) => get("skills", signal), []);
  return (
    <>
      <Header
        title="Skills"
        lead="Functions that an agent saved, tested, to use again: yours and shared ones. Those of one session are on its page."
      />
      <Loaded of={list}>
        {(rows) =>
          rows.length ? (
            <Table caption="Skills" columns={COLUMNS} rows={rows} id={(row) => `${row.level} ${row.name}`} />
          ) : (
            <None who={who} />
          )
        }
      </Loaded>
    </>
  );
}

const None = ({ who }) =>
  may(who, "execute") ? (
    <Empty title="You have saved nothing yet, and nothing is shared.">
      <p>Code saves a function once it works, and any later program imports it:</p>
      <Plain text={EXAMPLE} label="Example" />
    </Empty>
  ) : (
    <Empty title="Your token shows no skill.">
      <p>
        It cannot save any, and those of the level <code>user</code> are seen by whoever saved them: you see shared ones, of which
        there is none.
      </p>
    </Empty>
  );

export function Skill({ name }) {
  const who = useWho();
  const [{ session }] = useAsked({ session: "" });
  const skill = useLoad((signal) => get(`skills/${path(name)}${query({ session })}`, signal), [name, session]);
  const forget = useAction(async (level) => {
    await remove(`skills/${path(name)}${query({ level, session })}`);
    location.hash = session ? to("sessions", session) : to("skills");
  });
  const mayForget = skill.value && may(who, skill.value.level === "shared" ? "admin" : "execute") && may(who, "execute");
  return (
    <>
      <Crumbs>
        <a href={to("skills")}>Skills</a>
        {session && (
          <>
            {" "}
            of <a href={to("sessions", session)}>a session</a>
          </>
        )}
      </Crumbs>
      <Header title={name} tab={`Skill ${name}`}>
        {mayForget && <Sure label="Forget" ask="Forget every version" onConfirm={() => forget.run(skill.value.level)} />}
      </Header>
      <Failure error={forget.error} />
      <Loaded of={skill}>{(found) => <Contents skill={found} session={session} />}</Loaded>
    </>
  );
}

function Contents({ skill, session }) {
  return (
    <>
      <Facts
        of={{
          Version: skill.version,
          Tested: skill.tested ? "yes" : "no",
          For: LEVELS[skill.level] || skill.level,
          Caller: skill.caller,
          Saved: <Time at={skill.created} />,
          Requires: skill.requires.join(", ") || "nothing",
          Hash: <code>{skill.hash.slice(0, 12)}</code>,
        }}
      />
      <section>
        <h2>Source</h2>
        <Code text={skill.source} label="Source" />
      </section>
      {skill.tests && (
        <section>
          <h2>Tests</h2>
          <Code text={skill.tests} label="Tests" />
        </section>
      )}
      <Versions name={skill.name} session={session} versions={[...skill.versions].sort((a, b) => b - a)} />
    </>
  );
}

function Versions({ name, session, versions }) {
  const [pair, setPair] = useState({ old: versions[1], new: versions[0] });
  const found = useLoad(
    (signal) => (pair.old ? get(`skills/${path(name)}/diff${query({ ...pair, session })}`, signal) : Promise.resolve(null)),
    [name, pair.old, pair.new],
  );
  const choose = (side) => (event) => setPair({ ...pair, [side]: Number(event.currentTarget.value) });
  const words = Object.fromEntries(versions.map((version) => [version, `version ${version}`]));
  return (
    <section aria-labelledby="versions">
      <h2 id="versions">What changed</h2>
      {versions.length < 2 ? (
        <p class="quiet">There is one version. Saving the function again makes the next.</p>
      ) : (
        <>
          <div class="filters">
            <Field label="From">
              <Choice of={versions} words={words} value={pair.old} onChange={choose("old")} />
            </Field>
            <Field label="To">
              <Choice of={versions} words={words} value={pair.new} onChange={choose("new")} />
            </Field>
          </div>
          <Loaded of={found}>
            {(told) => (told?.diff ? <Diff text={told.diff} /> : <p class="quiet">Nothing: both are the same.</p>)}
          </Loaded>
        </>
      )}
    </section>
  );
}
