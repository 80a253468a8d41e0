// All servers with what their definitions cost, and the search that agents use.
import { get } from "../api/client.ts";
import type { Server } from "../api/shapes.ts";
import { linkTo } from "../hooks/route.ts";
import { useLoad } from "../hooks/use-load.ts";
import { Empty } from "../parts/empty.tsx";
import { Loaded } from "../parts/loading.tsx";
import { Header } from "../parts/page-header.tsx";
import { Status } from "../parts/status.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Plain } from "../parts/text-boxes.tsx";
import { Tile, Tiles } from "../parts/tiles.tsx";
import { formatCount } from "../text/format.ts";
import { ToolSearch } from "./tool-search.tsx";

export function ToolsPage() {
  const servers = useLoad((signal) => get("/tools", {}, signal), [], { every: 5000 });
  return (
    <>
      <Header
        title="Tools"
        lead="Every connected server, and what its definitions would cost a model that had them all in its context."
      />
      <Loaded of={servers}>{(rows) => (rows.length ? <Servers rows={rows} /> : <NoServers />)}</Loaded>
      <ToolSearch />
    </>
  );
}

const COLUMNS: Column<Server>[] = [
  {
    name: "Server",
    cell: (row) => (
      <>
        <a class="named" href={linkTo("tools", row.name)}>
          {row.name}
        </a>
        <small class="narrow">
          <Remarks row={row} />
        </small>
      </>
    ),
  },
  { name: "State", tight: true, cell: (row) => <Status value={row.state} /> },
  { name: "Tools", right: true, tight: true, cell: (row) => formatCount(row.tools) },
  { name: "Tokens", right: true, tight: true, cell: (row) => formatCount(row.tokens) },
  { name: "Kind", wide: true, tight: true, cell: (row) => row.kind },
  { name: "Remarks", wide: true, cell: (row) => <Remarks row={row} /> },
];

/** What is wrong, in short; the server's page has the full text. */
function Remarks({ row }: { row: Server }) {
  const remarks = [
    row.error,
    row.changed && `${row.changed} changed since accepted`,
    row.flagged && `${row.flagged} suspicious`,
  ].filter(Boolean);
  return remarks.length > 0 ? (
    <a class="bad-text clamp" href={linkTo("tools", row.name)}>
      {remarks.join(" · ")}
    </a>
  ) : null;
}

/** The states that are a problem. An idle server is not: it is connected when it is called. */
const UNWELL = new Set(["failed", "closed"]);

function describeHealth(rows: Server[]) {
  const unwell = rows.filter((row) => UNWELL.has(row.state)).length;
  const connecting = rows.filter((row) => row.state === "connecting").length;
  const parts = [unwell && `${unwell} failed`, connecting && `${connecting} connecting`].filter(Boolean);
  return parts.join(", ") || "all well";
}

function Servers({ rows }: { rows: Server[] }) {
  const sum = (name: "tools" | "tokens") => rows.reduce((total, row) => total + row[name], 0);
  const isBad = rows.some((row) => UNWELL.has(row.state));
  return (
    <section aria-label="Servers">
      <Tiles>
        <Tile label="Servers" value={formatCount(rows.length)} note={describeHealth(rows)} tone={isBad ? "bad-note" : ""} />
        <Tile label="Tools" value={formatCount(sum("tools"))} />
        <Tile label="Tokens of all definitions" value={formatCount(sum("tokens"))} note="an agent here reads two tools instead" />
      </Tiles>
      <Table caption="Servers" columns={COLUMNS} rows={rows} id={(row) => row.name} />
      <p class="quiet small">An idle server is connected when it is called.</p>
    </section>
  );
}

const NoServers = () => (
  <Empty title="No server is connected.">
    <p>
      Add one to <code>gristmill.toml</code>, or import the servers of your MCP clients:
    </p>
    <Plain text={"gristmill import\ngristmill tools"} label="Commands" />
  </Empty>
);
