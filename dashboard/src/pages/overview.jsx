// What runs now, and how it has been going.
import { useMemo, useState } from "preact/hooks";
import { get } from "../api.js";
import { Empty, Failure, Header, Loaded, Tile, Tiles, Waits } from "../parts/basics.jsx";
import { buckets, isError, quantile, stepped } from "../parts/buckets.js";
import { Calls } from "../parts/calls.jsx";
import { Chart, COUNTS, DURATIONS } from "../parts/chart.jsx";
import { useRunning } from "../parts/running.js";
import { Plain } from "../parts/text.jsx";
import { Tokens } from "../parts/tokens.jsx";
import { to, withAsked } from "../route.js";
import { may, useCalmly, useLoad, useNow, useWho } from "../state.js";
import { compact, count, many, ms, percent, shortId } from "../words.js";

const SAMPLE = 1000;

export function Overview() {
  const who = useWho();
  const now = useRunning();
  const [round, setRound] = useState(0);
  const list = useLoad((signal) => get(`executions?limit=${SAMPLE}`, signal), []);
  const stats = useLoad((signal) => (may(who, "read", "admin") ? get("stats", signal) : Promise.resolve(null)), []);
  const ended = list.value?.executions.filter((one) => one.status !== "running" && one.time);
  useCalmly(now.lastEnded, () => {
    list.again();
    stats.again();
    setRound((count) => count + 1);
  });
  return (
    <>
      <Header title="Now" lead="What runs, and how it has been going." />
      <Running now={now} isFirst={ended?.length === 0} />
      <Elsewhere />
      <Loaded of={list}>{() => ended.length > 0 && <Trend ended={ended} stats={stats.value} />}</Loaded>
      <Failure error={stats.error} again={stats.again} />
      {stats.value && <Calls round={round} />}
      {stats.value && <Tokens tokens={stats.value.tokens} />}
    </>
  );
}

function Running({ now: { running, total, error }, isFirst }) {
  return (
    <section aria-labelledby="running">
      <h2 id="running">
        Running <span class="badge">{running ? count(total) : "?"}</span>
      </h2>
      <p class="unseen" role="status">
        {running && `${many(total, "execution")} running`}
      </p>
      {error && <p class="quiet">What runs now is not known; it is asked again.</p>}
      <Failure error={error} />
      {!running && !error && <Waits />}
      {running?.length === 0 && <Quiet isFirst={isFirst} />}
      {running?.length > 0 && (
        <ul class="cards">
          {running.map((one) => (
            <Card key={one.id} execution={one} />
          ))}
        </ul>
      )}
      {total > running?.length && <p class="quiet">These are the newest; {count(total - running.length)} more run.</p>}
    </section>
  );
}

/** The stream tells of the process that answers; what others over the same store run is on record only. */
function Elsewhere() {
  const list = useLoad((signal) => get(`executions?status=running&limit=${SAMPLE}`, signal), [], { every: 15_000 });
  const far = list.value?.executions.filter((one) => typeof one.seq === "number").length;
  return far ? (
    <p class="callout">
      {many(far, "execution")} {far === 1 ? "runs" : "run"} in another process of the service:{" "}
      <a href={withAsked(to("executions"), { status: "running" })}>see the list</a>
    </p>
  ) : null;
}

function Quiet({ isFirst }) {
  const command = `curl ${location.origin}/execute -H 'Content-Type: application/json' \\\n  -d '{"code": "print(6 * 7)"}'`;
  return (
    <Empty title={isFirst ? "Nothing has run yet." : "Nothing is running."}>
      <p>
        Executions show up here while they run. Try one in the <a href={to("playground")}>playground</a>
        {isFirst ? ", or from a shell:" : "."}
      </p>
      {isFirst && <Plain text={command} label="Command" />}
    </Empty>
  );
}

function Card({ execution }) {
  const now = useNow(true);
  const { open_calls: open, open_calls_total: all } = execution;
  return (
    <li class="card">
      <p class="card-head">
        <a href={to("executions", execution.id)}>{shortId(execution.id)}</a>
        <span class="quiet named">
          {execution.session || "no session"} · {execution.caller}
        </span>
        <span class="clock">{ms(Math.max(0, now - execution.time) * 1000)}</span>
      </p>
      <p class="doing">
        {all ? `calls ${open.join(", ")}${all > open.length ? ` and ${count(all - open.length)} more` : ""}` : "no open call"}
      </p>
      {execution.line && <pre class="line">{execution.line}</pre>}
    </li>
  );
}

const RUNS = [
  { label: "executions", color: "--bar", bars: true },
  { label: "errors", color: "--bad", bars: true },
];
const TIMES = [
  { label: "95th percentile", color: "--quiet", points: true },
  { label: "median", color: "--accent", points: true },
];

function Trend({ ended, stats }) {
  const key = `${ended.length} ${ended[0].id}`;
  const found = useMemo(() => buckets(ended), [key]);
  const counts = useMemo(() => [found.times, found.all, found.errors], [found]);
  const times = useMemo(() => [found.times, found.slow, found.median], [found]);
  const sorted = ended
    .map((one) => one.ms)
    .filter((one) => typeof one === "number")
    .sort((a, b) => a - b);
  const errors = ended.filter(isError).length;
  const [median, slow] = [quantile(sorted, 0.5), quantile(sorted, 0.95)];
  const step = stepped(found.step);
  return (
    <section aria-labelledby="trend">
      <h2 id="trend">The last {many(ended.length, "execution")}</h2>
      <Tiles>
        <Tile
          label="Errors"
          value={percent(errors, ended.length)}
          note={`${count(errors)} of ${count(ended.length)}`}
          tone={errors ? "bad" : ""}
        />
        <Tile label="Median time" value={ms(median)} />
        <Tile label="95th percentile" value={ms(slow)} />
        {stats && (
          <Tile label="Calls on record" value={compact(stats.tokens.calls)} note={`${count(stats.tokens.searches)} × searched`} />
        )}
      </Tiles>
      <div class="charts">
        <Chart
          title="Executions"
          summary={`${count(ended.length)}, ${many(errors, "error")}`}
          remark={`One bar is ${step}.`}
          series={RUNS}
          values={counts}
          unit={compact}
          marks={COUNTS}
          step={found.step}
        />
        <Chart
          title="Time"
          summary={`median ${ms(median)}, 95th percentile ${ms(slow)}`}
          remark={`One point is ${step}.`}
          series={TIMES}
          values={times}
          unit={ms}
          marks={DURATIONS}
          step={found.step}
        />
      </div>
    </section>
  );
}
