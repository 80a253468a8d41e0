// One record of the audit: a line that says what it was about, and all of it below.
import { to } from "../route.js";
import { exactly, full, many, ms, shortId } from "../words.js";
import { Status, Time } from "./basics.jsx";
import { Json } from "./text.jsx";

const about = {
  execution: (row) => (row.code ? firstLine(row.code) : `program ${shortId(row.code_hash || row.id)}`),
  call: (row) => row.tool,
  search: (row) => `“${row.details?.query ?? ""}”`,
  security: (row) => [row.tool || row.details?.tool, row.rule, row.details?.shown || row.error].filter(Boolean).join(" · "),
  approval: (row) => `${many(row.details?.calls?.length ?? 0, "call")}, by ${row.details?.by ?? "nobody"}`,
};

/** The first line that is more than an import or a remark. */
function firstLine(code) {
  const lines = code
    .slice(0, 4000)
    .split("\n")
    .map((line) => line.trim());
  return lines.find((line) => line && !/^(#|import |from )/.test(line)) || lines.find(Boolean) || "";
}

const what = (row) => (about[row.kind]?.(row) || row.tool || row.rule || row.id).slice(0, 300);

export function Record({ row }) {
  const execution = (row.kind === "execution" ? row.id : row.parent)?.split("/")[0];
  const error = row.kind === "execution" && row.status !== "ok" ? row.rule || row.error : row.kind === "call" ? row.error : null;
  return (
    <li>
      <details>
        <summary>
          <span class="seq">{row.seq}</span>
          <Time at={row.time} format={exactly} />
          <span class="kind">{row.kind}</span>
          <span class="what">
            {what(row)} {error && <small class="quiet">{error}</small>}
          </span>
          <span class="how">{row.status && <Status value={row.status} />}</span>
          <span class="took">{row.ms === undefined ? "" : ms(row.ms)}</span>
          <span class="by">{row.caller}</span>
        </summary>
        <p class="quiet">
          {full.format(row.time * 1000)}, which is {new Date(row.time * 1000).toISOString()}
          {row.session && `; session ${row.session}`}
          {execution && (
            <>
              ; <a href={to("executions", execution)}>the execution</a>
            </>
          )}
        </p>
        <Json value={row} label={`Record ${row.seq}`} />
      </details>
    </li>
  );
}
