// Servers and what they cost, and the search that agents use.
import { useState } from "preact/hooks";
import { get, query } from "../api.js";
import { Empty, Failure, Field, Header, Loaded, Status, Tile, Tiles } from "../parts/basics.jsx";
import { Table } from "../parts/table.jsx";
import { Plain } from "../parts/text.jsx";
import { to, useAction, useLoad } from "../state.js";
import { count } from "../words.js";

const LEVELS = { name_only: "names", with_description: "descriptions", full: "in full" };

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
        <a href={to("tools", row.name)}>{row.name}</a>
        <small class="narrow">
          <Remarks row={row} />
        </small>
      </>
    ),
  },
  { name: "State", cell: (row) => <Status value={row.state} /> },
  { name: "Tools", right: true, cell: (row) => count(row.tools) },
  { name: "Tokens", right: true, cell: (row) => count(row.tokens) },
  { name: "Kind", wide: true, cell: (row) => row.kind },
  { name: "Remarks", wide: true, cell: (row) => <Remarks row={row} /> },
];

function Remarks({ row }) {
  const told = [
    row.error,
    row.changed && `${row.changed} changed since accepted`,
    row.flagged && `${row.flagged} suspicious`,
  ].filter(Boolean);
  return told.length ? <span class="bad-text clamp">{told.join(" · ")}</span> : <span class="quiet">{row.era || "–"}</span>;
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
  const ready = rows.filter((row) => row.state === "ready").length;
  return (
    <section aria-label="Servers">
      <Tiles>
        <Tile label="Servers" value={count(rows.length)} note={`${ready} ready`} />
        <Tile label="Tools" value={count(sum("tools"))} />
        <Tile label="Tokens of all definitions" value={count(sum("tokens"))} note="an agent here reads two tools instead" />
      </Tiles>
      <Table caption="Servers" columns={COLUMNS} rows={rows} id={(row) => row.name} />
    </section>
  );
}

function Search() {
  const [asked, setAsked] = useState({ query: "", detail_level: "with_description", limit: 5 });
  const [found, setFound] = useState(null);
  const search = useAction(async () => setFound(await get(`tools/search${query(asked)}`)));
  const set = (name) => (event) => setAsked({ ...asked, [name]: event.currentTarget.value });
  return (
    <section aria-labelledby="search">
      <h2 id="search">Search</h2>
      <form
        class="filters"
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          if (asked.query.trim()) search.run();
        }}
      >
        <Field grow label="What should a tool do?">
          <input type="search" value={asked.query} placeholder="open invoices of a customer" onInput={set("query")} />
        </Field>
        <Field label="Detail">
          <select value={asked.detail_level} onChange={set("detail_level")}>
            {Object.entries(LEVELS).map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        </Field>
        <Field label="At most">
          <select value={asked.limit} onChange={set("limit")}>
            {[3, 5, 10, 20].map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </Field>
        <button type="submit" disabled={search.busy || !asked.query.trim()}>
          Search
        </button>
      </form>
      <Failure error={search.error} />
      <div aria-live="polite">
        {found ? (
          <Hits found={found} />
        ) : (
          <p class="quiet">
            Ask as an agent does with <code>search_tools</code>: you see the ranking, and the text that it gets.
          </p>
        )}
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
