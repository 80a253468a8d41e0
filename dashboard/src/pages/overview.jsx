// What runs now, and how it has been going.
import { useMemo, useState } from "preact/hooks";
import { get } from "../api.js";
import { Empty, Failure, Header, Loaded, Tile, Tiles } from "../parts/basics.jsx";
import { buckets, isError, quantile } from "../parts/buckets.js";
import { Calls } from "../parts/calls.jsx";
import { Chart } from "../parts/chart.jsx";
import { useRunning } from "../parts/running.js";
import { useRun } from "../parts/run.jsx";
import { Plain } from "../parts/text.jsx";
import { Tokens } from "../parts/tokens.jsx";
import { may, to, useCalmly, useLoad, useNow, useWho } from "../state.js";
import { compact, count, many, ms, shortId } from "../words.js";

const SAMPLE = 1000;

export function Overview() {
  const who = useWho();
  const { running, lastEnded, error } = useRunning();
  const [round, setRound] = useState(0);
  const list = useLoad((signal) => get(`executions?limit=${SAMPLE}`, signal), []);
  const stats = useLoad((signal) => (may(who, "read", "admin") ? get("stats", signal) : Promise.resolve(null)), []);
  useCalmly(lastEnded, () => {
    list.again();
    stats.again();
    setRound((count) => count + 1);
  });
  return (
    <>
      <Header title="Now" lead="What runs, and how it has been going." />
      <Failure error={error} />
      <Loaded of={list}>
        {({ executions }) => <Sections running={running || []} executions={executions} stats={stats.value} />}
      </Loaded>
      {stats.value && <Calls round={round} />}
      {stats.value && <Tokens tokens={stats.value.tokens} />}
    </>
  );
}

function Sections({ running, executions, stats }) {
  const ended = executions.filter((one) => one.status !== "running" && one.time);
  return (
    <>
      <section aria-labelledby="running">
        <h2 id="running">
          Running <span class="badge">{running.length}</span>
        </h2>
        <p class="unseen" role="status">
          {many(running.length, "execution")} running
        </p>
        {running.length ? (
          <ul class="cards">
            {running.map((one) => (
              <Running key={one.id} execution={one} />
            ))}
          </ul>
        ) : (
          <Quiet first={!ended.length} />
        )}
      </section>
      {ended.length > 0 && <Trend ended={ended} stats={stats} />}
    </>
  );
}

function Quiet({ first }) {
  const command = `curl ${location.origin}/execute -H 'Content-Type: application/json' \\\n  -d '{"code": "print(6 * 7)"}'`;
  return (
    <Empty title={first ? "Nothing has run yet." : "Nothing is running."}>
      <p>
        Executions show up here while they run. Try one in the <a href={to("playground")}>playground</a>
        {first ? ", or from a shell:" : "."}
      </p>
      {first && <Plain text={command} label="Command" />}
    </Empty>
  );
}

function Running({ execution }) {
  const run = useRun(execution.id);
  const now = useNow(!run.done);
  const open = run.calls.filter((call) => call.end === undefined);
  const line = run.output.trimEnd().split("\n").at(-1);
  return (
    <li class="card">
      <p class="card-head">
        <a href={to("executions", execution.id)}>{shortId(execution.id)}</a>
        <span class="quiet">
          {execution.session || "no session"} · {execution.caller}
        </span>
        <span class="clock">{ms(Math.max(0, now - execution.time) * 1000)}</span>
      </p>
      <p class="doing">
        {open.length ? `calls ${open.map((call) => call.tool).join(", ")}` : `${many(run.calls.length, "call")} made`}
      </p>
      {line && <pre class="line">{line}</pre>}
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
  const share = `${((100 * errors) / ended.length).toFixed(errors ? 1 : 0)} %`;
  return (
    <section aria-labelledby="trend">
      <h2 id="trend">The last {many(ended.length, "execution")}</h2>
      <Tiles>
        <Tile label="Errors" value={share} note={`${count(errors)} of ${count(ended.length)}`} tone={errors ? "bad" : ""} />
        <Tile label="Median time" value={ms(median)} />
        <Tile label="95th percentile" value={ms(slow)} />
        {stats && <Tile label="At work" value={count(stats.running)} note={`${count(stats.waiting)} waiting`} />}
        {stats && (
          <Tile label="Calls on record" value={compact(stats.tokens.calls)} note={`${count(stats.tokens.searches)} × searched`} />
        )}
      </Tiles>
      <div class="charts">
        <Chart
          title="Executions"
          summary={`${count(ended.length)}, ${many(errors, "error")}`}
          series={RUNS}
          values={counts}
          unit={compact}
          step={found.step}
        />
        <Chart
          title="Time"
          summary={`median ${ms(median)}, 95th percentile ${ms(slow)}`}
          series={TIMES}
          values={times}
          unit={ms}
          step={found.step}
        />
      </div>
    </section>
  );
}
