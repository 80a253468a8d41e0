// The first page: what needs a person, what runs now, and how the executions of the chosen time went.
import { useState } from "preact/hooks";
import { get } from "../api/client.ts";
import { useFilters } from "../hooks/route.ts";
import { useCalmly } from "../hooks/time.ts";
import { useLoad } from "../hooks/use-load.ts";
import { hasScope, useWho } from "../hooks/who.ts";
import { Failure, Loaded } from "../parts/loading.tsx";
import { Header } from "../parts/page-header.tsx";
import { TokensSection } from "../parts/tokens.tsx";
import { Attention } from "./attention.tsx";
import { Breakdown } from "./breakdown.tsx";
import { CalledTools } from "./called-tools.tsx";
import { RunningElsewhere, RunningNow } from "./running-now.tsx";
import { Savings } from "./savings.tsx";
import { Trend } from "./trend.tsx";
import { useRunning } from "./use-running.ts";

const SAMPLE = 1000;
const [HOUR, DAY] = [3600, 86_400];
const RANGES: Record<string, { seconds: number; words: string }> = {
  "1h": { seconds: HOUR, words: "the last hour" },
  "24h": { seconds: DAY, words: "the last 24 hours" },
  "7d": { seconds: 7 * DAY, words: "the last 7 days" },
  "30d": { seconds: 30 * DAY, words: "the last 30 days" },
};
const USUAL = "24h";

export function OverviewPage() {
  const who = useWho();
  const now = useRunning();
  const [round, setRound] = useState(0);
  const [{ range }, change] = useFilters({ range: USUAL });
  const { seconds, words } = RANGES[range] ?? { seconds: DAY, words: "the last 24 hours" };
  const since = Math.floor(Date.now() / 1000 - seconds);
  const list = useLoad((signal) => get("/executions", { limit: SAMPLE, since }, signal), [range]);
  const stats = useLoad(async (signal) => (hasScope(who, "read", "admin") ? get("/stats", { since }, signal) : null), [range]);
  const ever = useLoad((signal) => get("/executions", { limit: 1 }, signal), []);
  const ended = list.value?.executions.flatMap((one) =>
    one.status !== "running" && one.time ? [{ ...one, time: one.time }] : [],
  );
  useCalmly(now.lastEnded, () => {
    list.again();
    stats.again();
    ever.again();
    setRound((count) => count + 1);
  });
  return (
    <>
      <Header title="Now" lead={`What needs you, what runs, and how ${words} went.`}>
        <fieldset class="ranges">
          <legend class="unseen">Time</legend>
          {Object.keys(RANGES).map((name) => (
            <button key={name} type="button" class="chip" aria-pressed={name === range} onClick={() => change({ range: name })}>
              {name.replace("h", " h").replace("d", " d")}
            </button>
          ))}
        </fieldset>
      </Header>
      {ended && <Attention rows={ended} since={since} />}
      {stats.value && <Savings tokens={stats.value.tokens} range={words} />}
      <RunningNow now={now} isFirst={ever.value?.executions.length === 0} />
      <RunningElsewhere />
      <Loaded of={list}>
        {() =>
          ended && ended.length > 0 ? (
            <Trend ended={ended} stats={stats.value} since={since} words={words} isCut={ended.length >= SAMPLE} />
          ) : (
            ever.value && ever.value.executions.length > 0 && <p class="quiet">Nothing ran in {words}.</p>
          )
        }
      </Loaded>
      <Failure error={stats.error} again={stats.again} />
      {ended && ended.length > 0 && hasScope(who, "read", "admin") && <Breakdown rows={ended} since={since} />}
      {stats.value && <CalledTools round={round} since={since} />}
      {stats.value && <TokensSection tokens={stats.value.tokens} />}
    </>
  );
}
