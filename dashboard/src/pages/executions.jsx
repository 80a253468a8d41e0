// What ran, the newest first.
import { useEffect, useRef, useState } from "preact/hooks";
import { get, query } from "../api.js";
import { Choice, Empty, Failure, Field, Header, Loaded, SessionName, Status, Time } from "../parts/basics.jsx";
import { extended, newest, refreshed } from "../parts/rows.js";
import { Table } from "../parts/table.jsx";
import { to, useAsked } from "../route.js";
import { useAction, useLoad } from "../state.js";
import { many, ms, shortId } from "../words.js";

const ENDINGS = ["ok", "failed", "refused", "limited", "crashed", "awaiting_approval", "cancelled", "interrupted"];
const STATUSES = ["", "running", ...ENDINGS];
const PAGE = 50;
const ALL = 1000;

const columns = (waiting) => [
  {
    name: "Execution",
    tight: true,
    cell: (row) => (
      <a href={to("executions", row.id)}>
        <code>{shortId(row.id)}</code>
      </a>
    ),
  },
  { name: "Status", tight: true, cell: (row) => <How row={row} waiting={waiting} /> },
  { name: "Began", tight: true, cell: (row) => <Time at={row.time} /> },
  { name: "Took", right: true, tight: true, cell: (row) => ms(row.ms ?? row.outcome?.execution_time_ms) },
  { name: "About", widest: true, cell: (row) => row.about && <code class="about">{row.about}</code> },
  { name: "Session", wide: true, cell: (row) => row.session && <SessionName name={row.session} caller={row.caller} /> },
  { name: "Caller", widest: true, cell: (row) => <span class="named">{row.caller}</span> },
];

/** The record says that it asked; whether anybody still has to answer is known by the plans that wait. */
const How = ({ row, waiting }) =>
  row.status === "awaiting_approval" && waiting && !waiting.has(row.id) ? (
    <Status value="withdrawn">no longer waits</Status>
  ) : (
    <Status value={row.status} />
  );

async function stillWaiting(signal) {
  const plans = await get(`approvals?limit=${ALL}`, signal);
  return plans.length < ALL ? new Set(plans.map((plan) => plan.execution)) : null;
}

export function Executions() {
  const [asked, set] = useAsked({ status: "", session: "" });
  return (
    <>
      <Header title="Executions" lead="Every program that ran: its code, its output, the calls it made." />
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <Field label="Status">
          <Choice
            of={STATUSES}
            words={{ "": "any" }}
            value={asked.status}
            onChange={(event) => set({ status: event.currentTarget.value })}
          />
        </Field>
        <Field label="Session" hint="its whole name">
          <input
            value={asked.session}
            placeholder="any"
            onChange={(event) => set({ session: event.currentTarget.value.trim() })}
          />
        </Field>
      </form>
      <Found key={JSON.stringify(asked)} asked={asked} />
    </>
  );
}

function Found({ asked }) {
  const where = (after) => `executions${query({ ...asked, limit: PAGE, after })}`;
  const [shown, setShown] = useState(null);
  const latest = useRef(null);
  latest.current = shown;
  const list = useLoad((signal) => newest((after) => get(where(after), signal), latest.current), [], { every: 5000 });
  useEffect(() => {
    if (list.value) setShown((before) => refreshed(before, list.value));
  }, [list.value]);
  const older = useAction(async () => {
    const page = await get(where(latest.current.next));
    setShown((before) => extended(before, page));
  });
  const asks = Boolean(shown?.rows.some((row) => row.status === "awaiting_approval"));
  const waiting = useLoad((signal) => (asks ? stillWaiting(signal) : Promise.resolve(null)), [asks], {
    every: asks ? 15_000 : 0,
  });
  if (!shown) return <Loaded of={list}>{() => null}</Loaded>;
  return (
    <>
      <Failure error={list.error} again={list.again} />
      {shown.rows.length > 0 && <Table caption="Executions" columns={columns(waiting.value)} rows={shown.rows} />}
      {!shown.rows.length && <None isFiltered={asked.status || asked.session} hasMore={shown.next} />}
      <Failure error={older.error} again={older.run} />
      <p class="actions">
        {shown.next && (
          <button type="button" class="plain" aria-busy={older.busy} onClick={older.run}>
            Older
          </button>
        )}
        {shown.rows.length > PAGE && <span class="quiet">{many(shown.rows.length, "execution")} shown</span>}
      </p>
    </>
  );
}

function None({ isFiltered, hasMore }) {
  if (hasMore) return <Empty title="Nothing among the newest." />;
  if (isFiltered) {
    return (
      <Empty title="Nothing fits.">
        <p>Loosen the filter above.</p>
      </Empty>
    );
  }
  return (
    <Empty title="Nothing has run yet.">
      <p>
        Run something in the <a href={to("playground")}>playground</a>, or let an agent call <code>execute_code</code>.
      </p>
    </Empty>
  );
}
