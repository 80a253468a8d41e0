// What runs now: in the process that answers, and in others.
import { get } from "../api/client.ts";
import type { RunningExecution } from "../api/shapes.ts";
import { linkTo, withFilters } from "../hooks/route.ts";
import { useNow } from "../hooks/time.ts";
import { useLoad } from "../hooks/use-load.ts";
import { Empty } from "../parts/empty.tsx";
import { Failure, Loading } from "../parts/loading.tsx";
import { Plain } from "../parts/text-boxes.tsx";
import { formatCount, formatMs, pluralize, shortenId } from "../text/format.ts";
import type { Running } from "./use-running.ts";

const SAMPLE = 1000;

export function RunningNow({ now: { running, total, error }, isFirst }: { now: Running; isFirst: boolean }) {
  const more = total - (running?.length ?? total);
  return (
    <section aria-labelledby="running">
      <h2 id="running">
        Running <span class="badge">{running ? formatCount(total) : "?"}</span>
      </h2>
      <p class="unseen" role="status">
        {running && `${pluralize(total, "execution")} running`}
      </p>
      {error && <p class="quiet">What runs now is not known; the page tries again.</p>}
      <Failure error={error} />
      {!running && !error && <Loading />}
      {running?.length === 0 && <NothingRuns isFirst={isFirst} />}
      {running && running.length > 0 && (
        <ul class="cards">
          {running.map((one) => (
            <Card key={one.id} execution={one} />
          ))}
        </ul>
      )}
      {more > 0 && <p class="quiet">These are the newest; {formatCount(more)} more run.</p>}
    </section>
  );
}

/** The stream names only executions of the process that answers. Those of other processes over the same store are on record. */
export function RunningElsewhere() {
  const list = useLoad((signal) => get("/executions", { status: "running", limit: SAMPLE }, signal), [], {
    every: 15_000,
  });
  const far = list.value?.executions.filter((one) => typeof one.seq === "number").length;
  return far ? (
    <p class="callout">
      {pluralize(far, "execution")} {far === 1 ? "runs" : "run"} in another process of the service:{" "}
      <a href={withFilters(linkTo("executions"), { status: "running" })}>see the list</a>
    </p>
  ) : null;
}

function NothingRuns({ isFirst }: { isFirst: boolean }) {
  const command = `curl ${location.origin}/execute -H 'Content-Type: application/json' \\\n  -d '{"code": "print(6 * 7)"}'`;
  return (
    <Empty title={isFirst ? "Nothing has run yet." : "Nothing is running."}>
      <p>
        Executions are shown here while they run. Try one in the <a href={linkTo("playground")}>playground</a>
        {isFirst ? ", or from a shell:" : "."}
      </p>
      {isFirst && <Plain text={command} label="Command" />}
    </Empty>
  );
}

function Card({ execution }: { execution: RunningExecution }) {
  const now = useNow(true);
  return (
    <li class="card">
      <p class="card-head">
        <a href={linkTo("executions", execution.id)}>{shortenId(execution.id)}</a>
        <span class="quiet named">
          {execution.session || "no session"} · {execution.caller}
        </span>
        <span class="clock">{formatMs(Math.max(0, now - execution.time) * 1000)}</span>
      </p>
      <p class="doing">{describeOpenCalls(execution)}</p>
      {execution.line && <pre class="line">{execution.line}</pre>}
    </li>
  );
}

function describeOpenCalls({ open_calls: open, open_calls_total: total }: RunningExecution) {
  if (!total) return "no open call";
  return `calls ${open.join(", ")}${total > open.length ? ` and ${formatCount(total - open.length)} more` : ""}`;
}
