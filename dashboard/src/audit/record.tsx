// One record of the audit log: a line that says what it is about, and all of it when the line is opened.
import type { AuditKind, AuditRecord } from "../api/shapes.ts";
import { linkTo } from "../hooks/route.ts";
import { Status, Time } from "../parts/status.tsx";
import { Json } from "../parts/text-boxes.tsx";
import { formatExactTime, formatFullTime, formatMs, pluralize, shortenId } from "../text/format.ts";

const MOST = 300; // characters of the line

/** How records of each kind are summarized. What `details` holds depends on the kind. */
const SUMMARIES: { [kind in AuditKind]: (row: AuditRecord) => string | undefined } = {
  execution: (row) => (row.code ? findFirstLine(row.code) : `program ${shortenId(row.code_hash || row.id)}`),
  call: (row) => row.tool,
  search: (row) => `“${row.details?.query ?? ""}”`,
  security: (row) => [row.tool || row.details?.tool, row.rule, row.details?.shown || row.error].filter(Boolean).join(" · "),
  rollout: (row) => [row.status, row.details?.by && `by ${row.details.by}`, row.details?.reason].filter(Boolean).join(" · "),
  approval: (row) =>
    row.details?.rule
      ? `${row.status}: ${row.details.rule}`
      : `${pluralize(countCalls(row), "call")}, by ${row.details?.by ?? "an unknown person"}`,
};

const countCalls = ({ details }: AuditRecord) => (Array.isArray(details?.calls) ? details.calls.length : 0);

/** Finds the first line that is not an import or a comment. */
function findFirstLine(code: string) {
  const lines = code
    .slice(0, 4000)
    .split("\n")
    .map((line) => line.trim());
  return lines.find((line) => line && !/^(#|import |from )/.test(line)) || lines.find(Boolean) || "";
}

// A newer service may send a kind that is not in the table.
const summarize = (row: AuditRecord) => (SUMMARIES[row.kind]?.(row) || row.tool || row.rule || row.id).slice(0, MOST);

function findError({ kind, status, rule, error }: AuditRecord) {
  if (kind === "execution" && status !== "ok") return rule || error;
  return kind === "call" ? error : null;
}

export function Record({ row }: { row: AuditRecord }) {
  const execution = (row.kind === "execution" ? row.id : row.parent)?.split("/")[0];
  const error = findError(row);
  return (
    <li>
      <details>
        <summary>
          <span class="seq">{row.seq}</span>
          <Time at={row.time} format={formatExactTime} />
          <span class="kind">{row.kind}</span>
          <span class="what">
            {summarize(row)} {error && <small class="quiet">{error}</small>}
          </span>
          <span class="how">{row.status && <Status value={row.status} />}</span>
          <span class="took">{row.ms === undefined ? "" : formatMs(row.ms)}</span>
          <span class="by">{row.caller}</span>
        </summary>
        <p class="quiet">
          {formatFullTime(row.time)}, which is {new Date(row.time * 1000).toISOString()}
          {row.session && `; session ${row.session}`}
          {execution && (
            <>
              ; <a href={linkTo("executions", execution)}>the execution</a>
            </>
          )}
        </p>
        <Json value={row} label={`Record ${row.seq}`} />
      </details>
    </li>
  );
}
