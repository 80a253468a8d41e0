// Functions that code saved for later, version by version.
import { useState } from "preact/hooks";
import { get, path, query, remove } from "../api.js";
import { Empty, Facts, Failure, Field, Header, Loaded, Sure, Time } from "../parts/basics.jsx";
import { Table } from "../parts/table.jsx";
import { Code, Diff, Plain } from "../parts/text.jsx";
import { may, to, useAction, useLoad, useWho } from "../state.js";

const COLUMNS = [
  { name: "Skill", cell: (row) => <a href={to("skills", row.name)}>{row.name}</a> },
  { name: "Version", right: true, cell: (row) => row.version },
  { name: "Tested", cell: (row) => (row.tested ? "yes" : "no") },
  { name: "For", wide: true, cell: (row) => row.level },
  { name: "Saved", wide: true, cell: (row) => <Time at={row.created} /> },
  { name: "Requires", wide: true, cell: (row) => row.requires.join(", ") || "–" },
];

const EXAMPLE =
  'from skills import save\n\ndef double(n: int) -> int:\n    """Twice a number."""\n    return n * 2\n\nsave(double, tests="assert double(2) == 4", level="user")';

export function Skills() {
  const list = useLoad((signal) => get("skills", signal), []);
  return (
    <>
      <Header title="Skills" lead="Functions that an agent saved, tested, to use again." />
      <Loaded of={list}>
        {(rows) =>
          rows.length ? (
            <Table caption="Skills" columns={COLUMNS} rows={rows} id={(row) => `${row.level} ${row.name}`} />
          ) : (
            <Empty title="Nothing has been saved yet.">
              <p>Code saves a function once it works, and any later program imports it:</p>
              <Plain text={EXAMPLE} label="Example" />
            </Empty>
          )
        }
      </Loaded>
    </>
  );
}

export function Skill({ name }) {
  const who = useWho();
  const skill = useLoad((signal) => get(`skills/${path(name)}`, signal), [name]);
  const forget = useAction(async (level) => {
    await remove(`skills/${path(name)}${query({ level })}`);
    location.hash = to("skills");
  });
  return (
    <>
      <p class="crumbs">
        <a href={to("skills")}>Skills</a>
      </p>
      <Header title={name}>
        {skill.value && may(who, "execute") && (
          <Sure label="Forget" ask="Forget every version" onConfirm={() => forget.run(skill.value.level)} />
        )}
      </Header>
      <Failure error={forget.error} />
      <Loaded of={skill}>
        {(found) => (
          <>
            <Facts
              of={{
                Version: found.version,
                Tested: found.tested ? "yes" : "no",
                For: found.level,
                Caller: found.caller,
                Saved: <Time at={found.created} />,
                Requires: found.requires.join(", ") || "nothing",
                Hash: <code>{found.hash.slice(0, 12)}</code>,
              }}
            />
            <section>
              <h2>Source</h2>
              <Code text={found.source} label="Source" />
            </section>
            {found.tests && (
              <section>
                <h2>Tests</h2>
                <Code text={found.tests} label="Tests" />
              </section>
            )}
            <Versions name={name} versions={[...found.versions].sort((a, b) => b - a)} />
          </>
        )}
      </Loaded>
    </>
  );
}

function Versions({ name, versions }) {
  const [pair, setPair] = useState({ old: versions[1], new: versions[0] });
  const found = useLoad(
    (signal) => (pair.old ? get(`skills/${path(name)}/diff${query(pair)}`, signal) : Promise.resolve(null)),
    [name, pair.old, pair.new],
  );
  const choose = (side) => (event) => setPair({ ...pair, [side]: Number(event.currentTarget.value) });
  return (
    <section aria-labelledby="versions">
      <h2 id="versions">What changed</h2>
      {versions.length < 2 ? (
        <p class="quiet">There is one version. Saving the function again makes the next.</p>
      ) : (
        <>
          <div class="filters">
            <Pick label="From" versions={versions} value={pair.old} onChange={choose("old")} />
            <Pick label="To" versions={versions} value={pair.new} onChange={choose("new")} />
          </div>
          <Loaded of={found}>
            {(told) => (told?.diff ? <Diff text={told.diff} /> : <p class="quiet">Nothing: both are the same.</p>)}
          </Loaded>
        </>
      )}
    </section>
  );
}

const Pick = ({ label, versions, value, onChange }) => (
  <Field label={label}>
    <select value={value} onChange={onChange}>
      {versions.map((version) => (
        <option key={version} value={version}>
          version {version}
        </option>
      ))}
    </select>
  </Field>
);
