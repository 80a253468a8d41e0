// All executions, the newest first.
import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "../api/client.ts";
import type { Execution } from "../api/shapes.ts";
import { linkTo, useFilters } from "../hooks/route.ts";
import { useAction } from "../hooks/use-action.ts";
import { useLoad } from "../hooks/use-load.ts";
import { Empty } from "../parts/empty.tsx";
import { Choice, Field } from "../parts/fields.tsx";
import { Failure, Loaded } from "../parts/loading.tsx";
import { Header } from "../parts/page-header.tsx";
import { Table } from "../parts/table.tsx";
import { formatTime, pluralize } from "../text/format.ts";
import { listColumns, loadWaiting } from "./execution-columns.tsx";
import { addNewest, addOlder, loadNewest, type Shown } from "./paged-rows.ts";

const ENDINGS = ["ok", "failed", "refused", "limited", "crashed", "awaiting_approval", "cancelled", "interrupted"];
const STATUSES = ["", "running", ...ENDINGS];
const PAGE = 50;

const NO_FILTERS = { status: "", word: "", session: "", caller: "", since: "" };

type Filters = typeof NO_FILTERS;

export function ExecutionsPage() {
  const [filters, change] = useFilters(NO_FILTERS);
  return (
    <>
      <Header title="Executions" lead="Every program that ran: its code, its output, the calls it made." />
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <Field label="Status">
          <Choice
            of={STATUSES}
            words={{ "": "any" }}
            value={filters.status}
            onChange={(event) => change({ status: event.currentTarget.value })}
          />
        </Field>
        <Field label="Contains" hint="a part of the code, the error, a tool, a session or a caller">
          <input
            value={filters.word}
            maxLength={200}
            placeholder="any word"
            onChange={(event) => change({ word: event.currentTarget.value.trim() })}
          />
        </Field>
        <Field label="Caller" hint="the whole name">
          <input
            value={filters.caller}
            placeholder="any"
            onChange={(event) => change({ caller: event.currentTarget.value.trim() })}
          />
        </Field>
        <Field label="Session" hint="its whole name">
          <input
            value={filters.session}
            placeholder="any"
            onChange={(event) => change({ session: event.currentTarget.value.trim() })}
          />
        </Field>
        {filters.since && (
          <button type="button" class="plain" onClick={() => change({ since: "" })}>
            Since {formatTime(Number(filters.since))} ✕
          </button>
        )}
      </form>
      <Found key={JSON.stringify(filters)} filters={filters} />
    </>
  );
}

function Found({ filters }: { filters: Filters }) {
  const load = (after?: number | null, signal?: AbortSignal) =>
    get("/executions", { ...filters, since: filters.since ? Number(filters.since) : null, limit: PAGE, after }, signal);
  const [shown, setShown] = useState<Shown<Execution> | null>(null);
  const latest = useRef(shown);
  latest.current = shown;
  const list = useLoad((signal) => loadNewest((after) => load(after, signal), latest.current), [], { every: 5000 });
  useEffect(() => {
    const newest = list.value;
    if (newest) setShown((before) => addNewest(before, newest));
  }, [list.value]);
  const older = useAction(async () => {
    const page = await load(latest.current?.next);
    setShown((before) => before && addOlder(before, page));
  });
  const asks = Boolean(shown?.rows.some((row) => row.status === "awaiting_approval"));
  const waiting = useLoad(async (signal) => (asks ? loadWaiting(signal) : null), [asks], { every: asks ? 15_000 : 0 });
  if (!shown) return <Loaded of={list}>{() => null}</Loaded>;
  return (
    <>
      <Failure error={list.error} again={list.again} />
      {shown.rows.length > 0 && (
        <Table caption="Executions" columns={listColumns(waiting.value)} rows={shown.rows} id={(row) => row.id} />
      )}
      {!shown.rows.length && <NoExecutions isFiltered={Object.values(filters).some(Boolean)} hasMore={Boolean(shown.next)} />}
      <Failure error={older.error} again={older.run} />
      <p class="actions">
        {shown.next && (
          <button type="button" class="plain" aria-busy={older.busy} onClick={() => older.run()}>
            Older
          </button>
        )}
        {shown.rows.length > PAGE && <span class="quiet">{pluralize(shown.rows.length, "execution")} shown</span>}
      </p>
    </>
  );
}

function NoExecutions({ isFiltered, hasMore }: { isFiltered: boolean; hasMore: boolean }) {
  if (hasMore) return <Empty title="Nothing among the newest." />;
  if (isFiltered) {
    return (
      <Empty title="No execution matches.">
        <p>Remove a filter above.</p>
      </Empty>
    );
  }
  return (
    <Empty title="Nothing has run yet.">
      <p>
        Run something in the <a href={linkTo("playground")}>playground</a>, or let an agent call <code>execute_code</code>.
      </p>
    </Empty>
  );
}
