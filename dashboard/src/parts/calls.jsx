// Which tools are called, how long they take, how often they fail: out of the last calls on record.
import { useState } from "preact/hooks";
import { get } from "../api.js";
import { to } from "../route.js";
import { useLoad } from "../state.js";
import { count, many, ms } from "../words.js";
import { Loaded } from "./basics.jsx";
import { quantile } from "./buckets.js";
import { Table } from "./table.jsx";

const SAMPLE = 1000;
const SHOWN = 8;

/** A call that only waits for approval was not made: it took no time, and did not fail. */
const wasMade = ({ tool, status }) => tool && !tool.startsWith("gristmill.") && status !== "planned";

function byTool(records) {
  const found = new Map();
  for (const { tool, ms: took, status } of records) {
    const row = found.get(tool) || { tool, times: [], errors: 0 };
    row.times.push(took || 0);
    row.errors += status === "ok" ? 0 : 1;
    found.set(tool, row);
  }
  for (const row of found.values()) row.times.sort((a, b) => a - b);
  return [...found.values()].sort((one, other) => other.times.length - one.times.length);
}

function link(key) {
  const place = key.indexOf(".");
  return to("tools", key.slice(0, place), key.slice(place + 1));
}

const COLUMNS = [
  { name: "Tool", cell: (row) => <a href={link(row.tool)}>{row.tool}</a> },
  { name: "Calls", right: true, cell: (row) => count(row.times.length) },
  { name: "Errors", right: true, cell: (row) => <span class={row.errors ? "bad-text" : "quiet"}>{count(row.errors)}</span> },
  { name: "Median", right: true, cell: (row) => ms(quantile(row.times, 0.5)) },
  { name: "95th percentile", wide: true, right: true, cell: (row) => ms(quantile(row.times, 0.95)) },
];

export function Calls({ round }) {
  const list = useLoad((signal) => get(`audit?kind=call&limit=${SAMPLE}`, signal), [], { round });
  return <Loaded of={list}>{({ records }) => <Made records={records.filter(wasMade)} />}</Loaded>;
}

function Made({ records }) {
  const [isWhole, setWhole] = useState(false);
  const rows = byTool(records);
  if (!rows.length) return null;
  return (
    <section aria-labelledby="calls">
      <h2 id="calls">
        Tools that were called <small class="quiet">in the last {many(records.length, "call")} on record</small>
      </h2>
      <Table
        caption="Tools that were called"
        columns={COLUMNS}
        rows={isWhole ? rows : rows.slice(0, SHOWN)}
        id={(row) => row.tool}
      />
      {rows.length > SHOWN && (
        <button type="button" class="plain" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? `Only the ${SHOWN} most called` : `All ${rows.length} tools`}
        </button>
      )}
    </section>
  );
}
