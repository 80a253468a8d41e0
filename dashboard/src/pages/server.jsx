// The tools of one server, and one of them in full.
import { get, path } from "../api.js";
import { Empty, Facts, Header, Loaded } from "../parts/basics.jsx";
import { Table } from "../parts/table.jsx";
import { Code, Json } from "../parts/text.jsx";
import { to, useLoad } from "../state.js";
import { count, many } from "../words.js";

const COLUMNS = [
  { name: "Tool", cell: (row) => <a href={to("tools", row.server, row.name)}>{row.name}</a> },
  { name: "Tokens", right: true, cell: (row) => count(row.tokens) },
  { name: "Description", wide: true, cell: (row) => <span class="clamp">{row.description}</span> },
];

const dearestFirst = (tools) => tools.sort((one, other) => (other.tokens || 0) - (one.tokens || 0));

export function Server({ name }) {
  const tools = useLoad((signal) => get(`tools/${path(name)}`, signal).then(dearestFirst), [name]);
  return (
    <>
      <p class="crumbs">
        <a href={to("tools")}>Tools</a>
      </p>
      <Loaded of={tools}>
        {(rows) => (
          <>
            <Header
              title={name}
              lead={`${many(rows.length, "tool")}, ${count(rows.reduce((sum, row) => sum + (row.tokens || 0), 0))} tokens of definitions`}
            />
            {rows.length ? (
              <Table caption={`Tools of ${name}`} columns={COLUMNS} rows={rows} id={(row) => row.key} />
            ) : (
              <Empty title="No tools are known yet.">
                <p>
                  The server has not been listed; <code>gristmill doctor</code> says why.
                </p>
              </Empty>
            )}
          </>
        )}
      </Loaded>
    </>
  );
}

export function Tool({ server, name }) {
  const tool = useLoad((signal) => get(`tools/${path(server, name)}`, signal), [server, name]);
  return (
    <>
      <p class="crumbs">
        <a href={to("tools")}>Tools</a> / <a href={to("tools", server)}>{server}</a>
      </p>
      <Header title={name} />
      <Loaded of={tool}>
        {(found) => (
          <>
            <p class="prose">{found.description || "It has no description."}</p>
            <Facts
              of={{ Key: <code>{found.key}</code>, Title: found.title, Tokens: count(found.tokens), ...hints(found.annotations) }}
            />
            {found.text && (
              <section>
                <h2>As code sees it</h2>
                <Code text={found.text} label="Source" />
              </section>
            )}
            <section>
              <h2>Input</h2>
              <Json value={found.input_schema} label="Input schema" />
            </section>
            {found.output_schema && (
              <section>
                <h2>Output</h2>
                <Json value={found.output_schema} label="Output schema" />
              </section>
            )}
          </>
        )}
      </Loaded>
    </>
  );
}

/** What the server claims about the tool. */
const hints = (annotations) =>
  Object.fromEntries(
    Object.entries(annotations)
      .filter(([, value]) => typeof value !== "object")
      .map(([name, value]) => [name, String(value)]),
  );
