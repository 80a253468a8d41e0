// Servers and what they cost, and the search that agents use.
import { get, query } from "../api.js";
import { Choice, Empty, Field, Header, Loaded, Status, Tile, Tiles } from "../parts/basics.jsx";
import { Table } from "../parts/table.jsx";
import { Plain } from "../parts/text.jsx";
import { to, useAsked } from "../route.js";
import { useLoad } from "../state.js";
import { count } from "../words.js";

const LEVELS = { name_only: "names", with_description: "descriptions", full: "in full" };
const LIMITS = ["3", "5", "10", "20"];
const ASKED = { query: "", detail: "with_description", limit: "5" };

export function Tools() {
  const servers = useLoad((signal) => get("tools", signal), [], { every: 5000 });
  return (
    <>
      <Header
        title="Tools"
        lead="Every connected server, and what its definitions would cost a model that had them all in its context."
      />
      <Loaded of={servers}>{(rows) => <Servers rows={rows} />}</Loaded>
      <Search />
    </>
  );
}

const COLUMNS = [
  {
    name: "Server",
    cell: (row) => (
      <>
        <a class="named" href={to("tools", row.name)}>
          {row.name}
        </a>
        <small class="narrow">
          <Remarks row={row} />
        </small>
      </>
    ),
  },
  { name: "State", tight: true, cell: (row) => <Status value={row.state} /> },
  { name: "Tools", right: true, tight: true, cell: (row) => count(row.tools) },
  { name: "Tokens", right: true, tight: true, cell: (row) => count(row.tokens) },
  { name: "Kind", wide: true, tight: true, cell: (row) => row.kind },
  { name: "Remarks", wide: true, cell: (row) => <Remarks row={row} /> },
];

/** What is wrong, in short: the server's page says it in full. */
function Remarks({ row }) {
  const told = [
    row.error,
    row.changed && `${row.changed} changed since accepted`,
    row.flagged && `${row.flagged} suspicious`,
  ].filter(Boolean);
  return (
    told.length > 0 && (
      <a class="bad-text clamp" href={to("tools", row.name)}>
        {told.join(" · ")}
      </a>
    )
  );
}

/** A server that is not connected while nobody calls it is as it should be. */
const UNWELL = new Set(["failed", "closed"]);

function health(rows) {
  const [unwell, begins] = [rows.filter((row) => UNWELL.has(row.state)), rows.filter((row) => row.state === "connecting")];
  const told = [unwell.length && `${unwell.length} failed`, begins.length && `${begins.length} connecting`].filter(Boolean);
  return told.join(", ") || "all well";
}

function Servers({ rows }) {
  if (!rows.length) {
    return (
      <Empty title="No server is connected.">
        <p>
          Add one to <code>gristmill.toml</code>, or take over those that your MCP clients have:
        </p>
        <Plain text={"gristmill import\ngristmill tools"} label="Commands" />
      </Empty>
    );
  }
  const sum = (name) => rows.reduce((total, row) => total + row[name], 0);
  const isBad = rows.some((row) => UNWELL.has(row.state));
  return (
    <section aria-label="Servers">
      <Tiles>
        <Tile label="Servers" value={count(rows.length)} note={health(rows)} tone={isBad ? "bad-note" : ""} />
        <Tile label="Tools" value={count(sum("tools"))} />
        <Tile label="Tokens of all definitions" value={count(sum("tokens"))} note="an agent here reads two tools instead" />
      </Tiles>
      <Table caption="Servers" columns={COLUMNS} rows={rows} id={(row) => row.name} />
      <p class="quiet small">An idle server is connected when it is called.</p>
    </section>
  );
}

function Search() {
  const [asked, set] = useAsked(ASKED);
  const wanted = { query: asked.query, detail_level: asked.detail, limit: asked.limit };
  const found = useLoad(
    (signal) => (asked.query ? get(`tools/search${query(wanted)}`, signal) : Promise.resolve(null)),
    [asked.query, asked.detail, asked.limit],
  );
  return (
    <section aria-labelledby="search">
      <h2 id="search">Search</h2>
      <form
        class="filters"
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          const given = Object.fromEntries(new FormData(event.currentTarget));
          if (given.query.trim()) set({ ...given, query: given.query.trim() });
        }}
      >
        <Field grow label="What should a tool do?">
          <input type="search" name="query" required defaultValue={asked.query} placeholder="open invoices of a customer" />
        </Field>
        <Field label="Detail">
          <Choice
            name="detail"
            of={Object.keys(LEVELS)}
            words={LEVELS}
            value={asked.detail}
            onChange={(event) => set({ detail: event.currentTarget.value })}
          />
        </Field>
        <Field label="At most">
          <Choice name="limit" of={LIMITS} value={asked.limit} onChange={(event) => set({ limit: event.currentTarget.value })} />
        </Field>
        <button type="submit">Search</button>
      </form>
      <div aria-live="polite">
        <Loaded of={found}>
          {(told) =>
            told ? (
              <Hits found={told} />
            ) : (
              <p class="quiet">
                Ask as an agent does with <code>search_tools</code>: you see the ranking, and the text that it gets.
              </p>
            )
          }
        </Loaded>
      </div>
    </section>
  );
}

function Hits({ found }) {
  if (!found.hits.length)
    return (
      <Empty title="No tool fits.">
        <p>Other words may; an agent would try again, too.</p>
      </Empty>
    );
  const best = Math.max(...found.hits.map((hit) => hit.score), 1e-9);
  return (
    <>
      <ol class="hits">
        {found.hits.map((hit) => (
          <li key={hit.tool}>
            <p>
              <Key of={hit.tool} /> <span class="score">{hit.score.toFixed(2)}</span>
            </p>
            <span class="lane">
              <span class="bar accent" style={{ width: `${Math.max(1, (100 * hit.score) / best)}%` }} />
            </span>
            <p class="quiet clamp">{hit.description}</p>
          </li>
        ))}
      </ol>
      <h3>What the agent reads</h3>
      <Plain text={found.text} label="Answer of the search" />
    </>
  );
}

function Key({ of }) {
  const place = of.indexOf(".");
  const [server, tool] = [of.slice(0, place), of.slice(place + 1)];
  return <a href={server === "skills" ? to("skills", tool) : to("tools", server, tool)}>{of}</a>;
}
