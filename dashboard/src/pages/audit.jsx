// The record: what happened, in a chain that shows every change.
import { useState } from "preact/hooks";
import { get, query } from "../api.js";
import { Empty, Failure, Field, Header, Loaded, Status, Time } from "../parts/basics.jsx";
import { Json } from "../parts/text.jsx";
import { may, to, useAction, useLoad, useWho } from "../state.js";
import { count, ms } from "../words.js";

const KINDS = ["execution", "call", "search", "security", "approval"];
const NONE = { kind: "", tool: "", status: "", caller: "", session: "" };
const PAGE = 50;

export function Audit() {
  const who = useWho();
  const [asked, setAsked] = useState(NONE);
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
  const set = (name) => (event) => setAsked({ ...asked, [name]: event.currentTarget.value.trim() });
  return (
    <>
      <Header
        title="Audit"
        lead="Every execution, call, search, refusal and decision, the newest first, each sealed to the one before."
      />
      <Verify isOperator={who.is_operator} />
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <Field label="Kind">
          <select value={asked.kind} onChange={set("kind")}>
            <option value="">any</option>
            {KINDS.map((kind) => (
              <option key={kind} value={kind}>
                {kind}
              </option>
            ))}
          </select>
        </Field>
        {["tool", "status", "caller", "session"].map((name) => (
          <Field key={name} label={name[0].toUpperCase() + name.slice(1)}>
            <input value={asked[name]} placeholder="any" onChange={set(name)} />
          </Field>
        ))}
      </form>
      <Records key={JSON.stringify(asked)} asked={asked} />
    </>
  );
}

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
      <button type="button" disabled={verify.busy} onClick={verify.run}>
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
  const list = useLoad((signal) => get(`audit${query({ ...asked, limit: PAGE })}`, signal), []);
  const more = useAction(async (next) => {
    const found = await get(`audit${query({ ...asked, limit: PAGE, after: next })}`);
    setOlder({ rows: [...older.rows, ...found.records], next: found.next });
  });
  return (
    <Loaded of={list}>
      {(page) => {
        const rows = [...page.records, ...older.rows];
        const next = older.next === undefined ? page.next : older.next;
        if (!rows.length)
          return (
            <Empty title="No record fits.">
              <p>Records are made by executions, calls, searches and decisions, and by whatever was refused.</p>
            </Empty>
          );
        return (
          <>
            <ol class="records">
              {rows.map((row) => (
                <Record key={row.seq} row={row} />
              ))}
            </ol>
            <Failure error={more.error} />
            {next && (
              <button type="button" class="plain" disabled={more.busy} onClick={() => more.run(next)}>
                Older
              </button>
            )}
          </>
        );
      }}
    </Loaded>
  );
}

function Record({ row }) {
  const execution = row.kind === "execution" ? row.id : row.parent;
  return (
    <li>
      <details>
        <summary>
          <span class="seq">{row.seq}</span>
          <span class="kind">{row.kind}</span>
          <span class="what">{row.tool || row.rule || row.id}</span>
          <span class="how">{row.status && <Status value={row.status} />}</span>
          <span class="took">{row.ms === undefined ? "" : ms(row.ms)}</span>
          <Time at={row.time} />
        </summary>
        <Json value={row} label={`Record ${row.seq}`} />
        {execution && (
          <p>
            <a href={to("executions", execution.split("/")[0])}>The execution</a>
          </p>
        )}
      </details>
    </li>
  );
}
