// One server: how it is and what is wrong with it, its tools, and one of them in full.
import { get, path } from "../api.js";
import { Crumbs, Empty, Facts, Failure, Header, Loaded, Status } from "../parts/basics.jsx";
import { Table } from "../parts/table.jsx";
import { Code, Json, Plain } from "../parts/text.jsx";
import { Suspects, warnings } from "../parts/suspects.jsx";
import { to } from "../route.js";
import { useLoad } from "../state.js";
import { count, many } from "../words.js";

const COLUMNS = [
  {
    name: "Tool",
    cell: (row) => (
      <a class="named" href={to("tools", row.server, row.name)}>
        {row.name}
      </a>
    ),
  },
  { name: "Tokens", right: true, tight: true, cell: (row) => count(row.tokens) },
  { name: "Description", wide: true, cell: (row) => <span class="clamp">{row.description}</span> },
];

const STATES = {
  idle: "idle: it is connected when it is called",
  ready: "ready",
  connecting: "connecting",
  failed: "failed: a later call tries it again",
  closed: "closed",
};
const ERAS = { modern: "MCP of 2026-07-28 or later", legacy: "MCP before 2026-07-28" };

const dearestFirst = (tools) => tools.sort((one, other) => (other.tokens || 0) - (one.tokens || 0));

export function Server({ name }) {
  const tools = useLoad((signal) => get(`tools/${path(name)}`, signal).then(dearestFirst), [name]);
  const servers = useLoad((signal) => get("tools", signal), [], { every: 5000 });
  const server = servers.value?.find((row) => row.name === name);
  const cost = (rows) => rows.reduce((sum, row) => sum + (row.tokens || 0), 0);
  return (
    <>
      <Crumbs>
        <a href={to("tools")}>Tools</a>
      </Crumbs>
      <Header
        title={name}
        tab={`Server ${name}`}
        lead={tools.value && `${many(tools.value.length, "tool")}, ${count(cost(tools.value))} tokens of definitions`}
      />
      <Failure error={servers.error} again={servers.again} />
      {server && <Condition server={server} />}
      <Loaded of={tools}>
        {(rows) => (
          <>
            {server && <Suspects server={server} />}
            {rows.length ? (
              <Table caption={`Tools of ${name}`} columns={COLUMNS} rows={rows} id={(row) => row.key} />
            ) : (
              <Empty title="No tools are known yet.">
                <p>
                  The server has not told its tools; <code>gristmill doctor</code> looks into why.
                </p>
              </Empty>
            )}
          </>
        )}
      </Loaded>
    </>
  );
}

const Condition = ({ server }) => (
  <>
    <Facts
      of={{
        State: <Status value={server.state}>{STATES[server.state]}</Status>,
        Kind: server.kind,
        Protocol: ERAS[server.era] || server.era,
        Program: server.kind === "stdio" ? (server.confined ? "runs within walls" : "runs as any program of this user") : null,
      }}
    />
    {server.error && <Plain text={server.error} label="What is wrong" className="bad" />}
  </>
);

export function Tool({ server, name }) {
  const tool = useLoad((signal) => get(`tools/${path(server, name)}`, signal), [server, name]);
  return (
    <>
      <Crumbs>
        <a href={to("tools")}>Tools</a> / <a href={to("tools", server)}>{server}</a>
      </Crumbs>
      <Header title={name} tab={`Tool ${server}.${name}`} />
      <Loaded of={tool}>{(found) => <Contents tool={found} />}</Loaded>
    </>
  );
}

const Contents = ({ tool }) => (
  <>
    {warnings(tool).length > 0 && (
      <ul class="failure" aria-label="Warnings">
        {warnings(tool).map((warning) => (
          <li key={warning}>{warning}</li>
        ))}
      </ul>
    )}
    <p class="prose">{tool.description || "It has no description."}</p>
    <Facts of={{ Key: <code>{tool.key}</code>, Title: tool.title, Tokens: count(tool.tokens), ...hints(tool.annotations) }} />
    {tool.text && (
      <section>
        <h2>As code sees it</h2>
        <Code text={tool.text} label="Source" />
      </section>
    )}
    <section>
      <h2>Input</h2>
      <Json value={tool.input_schema} label="Input schema" />
    </section>
    {tool.output_schema && (
      <section>
        <h2>Output</h2>
        <Json value={tool.output_schema} label="Output schema" />
      </section>
    )}
  </>
);

/** What the server claims about the tool. */
const hints = (annotations) =>
  Object.fromEntries(
    Object.entries(annotations)
      .filter(([, value]) => typeof value !== "object")
      .map(([name, value]) => [name, String(value)]),
  );
