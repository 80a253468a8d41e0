// The record: what happened, in a chain that shows every change.
import { useState } from "preact/hooks";
import { get, query } from "../api.js";
import { Choice, Empty, Failure, Field, Header, Loaded } from "../parts/basics.jsx";
import { Record } from "../parts/record.jsx";
import { to, useAsked } from "../route.js";
import { may, useAction, useLoad, useWho } from "../state.js";
import { count, zone } from "../words.js";

const KINDS = ["", "execution", "call", "search", "security", "approval"];
const NONE = { kind: "", tool: "", status: "", caller: "", session: "", since: "", until: "" };
const WORDS = { tool: "server.tool, whole", status: "as rows show it", caller: "its whole name", session: "its whole name" };
const PAGE = 50;

export function Audit() {
  const who = useWho();
  const [asked, set] = useAsked(NONE);
  if (!may(who, "read", "admin")) {
    return (
      <>
        <Header title="Audit" />
        <p class="callout">
          The record of the tenant needs a token with the scope <code>read</code>. <a href={to("token")}>Use another token</a>
        </p>
      </>
    );
  }
  const typed = (name) => (event) => set({ [name]: event.currentTarget.value.trim() });
  return (
    <>
      <Header
        title="Audit"
        lead={
          "Every execution, call, search, refusal and decision, the newest first, each sealed to the one before. " +
          `Times are those of ${zone}.`
        }
      />
      <Verify isOperator={who.is_operator} />
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <Field label="Kind">
          <Choice of={KINDS} words={{ "": "any" }} value={asked.kind} onChange={typed("kind")} />
        </Field>
        {Object.entries(WORDS).map(([name, hint]) => (
          <Field key={name} label={name[0].toUpperCase() + name.slice(1)} hint={hint}>
            <input value={asked[name]} placeholder="any" onChange={typed(name)} />
          </Field>
        ))}
      </form>
      <form class="filters times" onSubmit={(event) => event.preventDefault()}>
        <Field label="Since">
          <input type="datetime-local" step="1" value={asked.since} onChange={typed("since")} />
        </Field>
        <Field label="Until">
          <input type="datetime-local" step="1" value={asked.until} onChange={typed("until")} />
        </Field>
        {Object.values(asked).some(Boolean) && (
          <button type="button" class="plain" onClick={() => set(NONE)}>
            No filter
          </button>
        )}
      </form>
      <Records key={JSON.stringify(asked)} asked={asked} />
    </>
  );
}

/** What the reader wrote is his own time; the service wants seconds. */
const seconds = (local) => (Number.isNaN(Date.parse(local)) ? "" : Date.parse(local) / 1000);

function Verify({ isOperator }) {
  const [told, setTold] = useState(null);
  const verify = useAction(async () => setTold(await get("audit/verify")));
  if (!isOperator)
    return (
      <p class="quiet">
        Verifying the chain is for the operator of the whole service (<code>admin</code> of the tenant <code>local</code>).
      </p>
    );
  return (
    <div class="verify">
      <button type="button" class="plain" aria-busy={verify.busy} onClick={verify.run}>
        {verify.busy ? "Verifying …" : "Verify the chain"}
      </button>
      <span role="status">
        {told &&
          (told.ok ? (
            <span class="good-text">Whole: {count(told.records)} records, none missing or changed.</span>
          ) : (
            <span class="bad-text">
              Broken at record {told.first_bad}: {told.reason}
            </span>
          ))}
      </span>
      <Failure error={verify.error} />
    </div>
  );
}

function Records({ asked }) {
  const [older, setOlder] = useState({ rows: [], next: undefined });
  const status = asked.status.replaceAll(" ", "_"); // rows show it without the underscores
  const wanted = { ...asked, status, since: seconds(asked.since), until: seconds(asked.until), limit: PAGE };
  const list = useLoad((signal) => get(`audit${query(wanted)}`, signal), []);
  const more = useAction(async (next) => {
    const found = await get(`audit${query({ ...wanted, after: next })}`);
    setOlder({ rows: [...older.rows, ...found.records], next: found.next });
  });
  return (
    <Loaded of={list}>
      {(page) => {
        const known = new Set(page.records.map((row) => row.seq));
        const rows = [...page.records, ...older.rows.filter((row) => !known.has(row.seq))];
        const next = older.next === undefined ? page.next : older.next;
        if (!rows.length) return <None isFiltered={Object.values(asked).some(Boolean)} />;
        return (
          <>
            <ol class="records" aria-label="Records">
              {rows.map((row) => (
                <Record key={row.seq} row={row} />
              ))}
            </ol>
            <Failure error={more.error} />
            <p class="actions">
              {next && (
                <button type="button" class="plain" aria-busy={more.busy} onClick={() => more.run(next)}>
                  Older
                </button>
              )}
              <span class="quiet">Newer ones are shown when the page is loaded again.</span>
            </p>
          </>
        );
      }}
    </Loaded>
  );
}

const None = ({ isFiltered }) => (
  <Empty title={isFiltered ? "No record fits." : "Nothing is on record yet."}>
    <p>
      {isFiltered
        ? "Tool, status, caller and session are compared as a whole: a part of a name finds nothing."
        : "Records are made by executions, calls, searches and decisions, and by whatever was refused."}
    </p>
  </Empty>
);
