// The page of one server: its state, what is wrong with it, and its tools.
import { get } from "../api/client.ts";
import type { Server, Tool } from "../api/shapes.ts";
import { linkTo } from "../hooks/route.ts";
import { useLoad } from "../hooks/use-load.ts";
import { Empty } from "../parts/empty.tsx";
import { Facts } from "../parts/facts.tsx";
import { Failure, Loaded } from "../parts/loading.tsx";
import { Crumbs, Header } from "../parts/page-header.tsx";
import { Status } from "../parts/status.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Plain } from "../parts/text-boxes.tsx";
import { formatCount, pluralize } from "../text/format.ts";
import { SuspiciousTools } from "./suspicious-tools.tsx";

const COLUMNS: Column<Tool>[] = [
  {
    name: "Tool",
    cell: (row) => (
      <a class="named" href={linkTo("tools", row.server, row.name)}>
        {row.name}
      </a>
    ),
  },
  { name: "Tokens", right: true, tight: true, cell: (row) => formatCount(row.tokens) },
  { name: "Description", wide: true, cell: (row) => <span class="clamp">{row.description}</span> },
];

const STATES: Record<string, string> = {
  idle: "idle: it is connected when it is called",
  ready: "ready",
  connecting: "connecting",
  failed: "failed: the next call tries to connect again",
  closed: "closed",
};
const ERAS: Record<string, string> = { modern: "MCP of 2026-07-28 or later", legacy: "MCP before 2026-07-28" };

const sortByCost = (tools: Tool[]) => tools.sort((one, other) => (other.tokens || 0) - (one.tokens || 0));

export function ServerPage({ name }: { name: string }) {
  const tools = useLoad((signal) => get("/tools/{server}", { server: name }, signal).then(sortByCost), [name]);
  const servers = useLoad((signal) => get("/tools", {}, signal), [], { every: 5000 });
  const server = servers.value?.find((row) => row.name === name);
  return (
    <>
      <Crumbs>
        <a href={linkTo("tools")}>Tools</a>
      </Crumbs>
      <Header title={name} tab={`Server ${name}`} lead={tools.value && describeCost(tools.value)} />
      <Failure error={servers.error} again={servers.again} />
      {server && <Condition server={server} />}
      <Loaded of={tools}>
        {(rows) => (
          <>
            {server && <SuspiciousTools server={server} />}
            {rows.length ? (
              <Table caption={`Tools of ${name}`} columns={COLUMNS} rows={rows} id={(row) => row.key} />
            ) : (
              <NoTools />
            )}
          </>
        )}
      </Loaded>
    </>
  );
}

function describeCost(tools: Tool[]) {
  const tokens = tools.reduce((sum, tool) => sum + (tool.tokens || 0), 0);
  return `${pluralize(tools.length, "tool")}, ${formatCount(tokens)} tokens of definitions`;
}

const NoTools = () => (
  <Empty title="No tools are known yet.">
    <p>
      The server has not listed its tools; <code>gristmill doctor</code> finds out why.
    </p>
  </Empty>
);

const Condition = ({ server }: { server: Server }) => (
  <>
    <Facts
      of={{
        State: <Status value={server.state}>{STATES[server.state]}</Status>,
        Kind: server.kind,
        Protocol: server.era && (ERAS[server.era] || server.era),
        Program: server.kind === "stdio" ? (server.confined ? "runs confined" : "runs as any program of this user") : null,
      }}
    />
    {server.error && <Plain text={server.error} label="What is wrong" className="bad" />}
  </>
);
