// The records that match the filters, page by page.
import { useState } from "preact/hooks";
import { get } from "../api/client.ts";
import type { AuditKind, AuditRecord } from "../api/shapes.ts";
import { useAction } from "../hooks/use-action.ts";
import { useLoad } from "../hooks/use-load.ts";
import { Empty } from "../parts/empty.tsx";
import { Failure, Loaded } from "../parts/loading.tsx";
import type { AuditFilters } from "./audit-page.tsx";
import { Record } from "./record.tsx";

const PAGE = 50;

/** Converts a time that the reader wrote, in the time zone of the browser, to seconds since 1970. */
const toSeconds = (local: string): number | "" => (Number.isNaN(Date.parse(local)) ? "" : Date.parse(local) / 1000);

/** Loads a page. The address may hold any text as `kind`: the service refuses one that it does not know. */
const loadPage = (filters: AuditFilters, after?: number, signal?: AbortSignal) => {
  const query = {
    ...filters,
    kind: filters.kind as AuditKind | "",
    status: filters.status.replaceAll(" ", "_"), // rows show a status without underscores
    since: toSeconds(filters.since),
    until: toSeconds(filters.until),
    limit: PAGE,
    after,
  };
  return get("/audit", query, signal);
};

interface Older {
  rows: AuditRecord[];
  /** Undefined until older records were loaded; null if there are no more. */
  next: number | null | undefined;
}

export function Records({ filters }: { filters: AuditFilters }) {
  const [older, setOlder] = useState<Older>({ rows: [], next: undefined });
  const list = useLoad((signal) => loadPage(filters, undefined, signal), []);
  const more = useAction(async (after: number) => {
    const found = await loadPage(filters, after);
    setOlder({ rows: [...older.rows, ...found.records], next: found.next ?? null });
  });
  return (
    <Loaded of={list}>
      {(page) => {
        const known = new Set(page.records.map((row) => row.seq));
        const rows = [...page.records, ...older.rows.filter((row) => !known.has(row.seq))];
        const next = older.next === undefined ? page.next : older.next;
        if (!rows.length) return <NoRecords isFiltered={Object.values(filters).some(Boolean)} />;
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
              <span class="quiet">Reload the page to see newer ones.</span>
            </p>
          </>
        );
      }}
    </Loaded>
  );
}

const NoRecords = ({ isFiltered }: { isFiltered: boolean }) => (
  <Empty title={isFiltered ? "No record fits." : "Nothing is on record yet."}>
    <p>
      {isFiltered
        ? "Tool, status, caller and session must match exactly: a part of a name finds nothing."
        : "Executions, calls, searches, decisions and refusals are recorded here."}
    </p>
  </Empty>
);
