// What ran, the newest first.
import { useState } from "preact/hooks";
import { get, query } from "../api.js";
import { Empty, Field, Header, Loaded, Status, Time } from "../parts/basics.jsx";
import { Table } from "../parts/table.jsx";
import { to, useAction, useLoad } from "../state.js";
import { ms, shortId } from "../words.js";

const STATUSES = ["running", "ok", "failed", "refused", "limited", "crashed", "awaiting_approval", "cancelled"];
const PAGE = 50;

const COLUMNS = [
  {
    name: "Execution",
    cell: (row) => (
      <a href={to("executions", row.id)}>
        <code>{shortId(row.id)}</code>
      </a>
    ),
  },
  { name: "Status", cell: (row) => <Status value={row.status} /> },
  { name: "Began", cell: (row) => <Time at={row.time} /> },
  { name: "Took", right: true, cell: (row) => ms(row.ms ?? row.outcome?.execution_time_ms) },
  { name: "About", wide: true, cell: (row) => row.about && <code class="about">{row.about}</code> },
  { name: "Session", wide: true, cell: (row) => row.session && <a href={to("sessions", row.session)}>{row.session}</a> },
  { name: "Caller", wide: true, cell: (row) => row.caller },
];

export function Executions() {
  const [asked, setAsked] = useState({ status: "", session: "" });
  const where = (after) => `executions${query({ ...asked, limit: PAGE, after })}`;
  const list = useLoad((signal) => get(where(), signal), [asked.status, asked.session], { every: 5000 });
  return (
    <>
      <Header title="Executions" lead="Every program that ran: its code, its output, the calls it made." />
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <Field label="Status">
          <select value={asked.status} onChange={(event) => setAsked({ ...asked, status: event.currentTarget.value })}>
            <option value="">any</option>
            {STATUSES.map((one) => (
              <option key={one} value={one}>
                {one.replaceAll("_", " ")}
              </option>
            ))}
          </select>
        </Field>
        <Field label="Session">
          <input
            value={asked.session}
            placeholder="any"
            onChange={(event) => setAsked({ ...asked, session: event.currentTarget.value.trim() })}
          />
        </Field>
      </form>
      <Loaded of={list}>
        {(page) => <Found key={where()} page={page} where={where} filtered={asked.status || asked.session} />}
      </Loaded>
    </>
  );
}

function Found({ page, where, filtered }) {
  const [older, setOlder] = useState({ rows: [], next: undefined });
  const next = older.next === undefined ? page.next : older.next;
  const more = useAction(async () => {
    const found = await get(where(next));
    setOlder({ rows: [...older.rows, ...found.executions], next: found.next });
  });
  const known = new Set(page.executions.map((row) => row.id));
  const rows = [...page.executions, ...older.rows.filter((row) => !known.has(row.id))];
  if (!rows.length) {
    return (
      <Empty title={filtered ? "Nothing fits." : "Nothing has run yet."}>
        <p>
          {filtered ? (
            "Loosen the filter above."
          ) : (
            <>
              Run something in the <a href={to("playground")}>playground</a>, or let an agent call <code>execute_code</code>.
            </>
          )}
        </p>
      </Empty>
    );
  }
  return (
    <>
      <Table caption="Executions" columns={COLUMNS} rows={rows} />
      {next && (
        <button type="button" class="plain" disabled={more.busy} onClick={more.run}>
          Older
        </button>
      )}
    </>
  );
}
