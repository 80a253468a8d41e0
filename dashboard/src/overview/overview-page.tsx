// The first page: what runs now, and how the last executions went.
import { useState } from "preact/hooks";
import { get } from "../api/client.ts";
import { useCalmly } from "../hooks/time.ts";
import { useLoad } from "../hooks/use-load.ts";
import { hasScope, useWho } from "../hooks/who.ts";
import { Failure, Loaded } from "../parts/loading.tsx";
import { Header } from "../parts/page-header.tsx";
import { TokensSection } from "../parts/tokens.tsx";
import { CalledTools } from "./called-tools.tsx";
import { RunningElsewhere, RunningNow } from "./running-now.tsx";
import { Trend } from "./trend.tsx";
import { useRunning } from "./use-running.ts";

const SAMPLE = 1000;

export function OverviewPage() {
  const who = useWho();
  const now = useRunning();
  const [round, setRound] = useState(0);
  const list = useLoad((signal) => get("/executions", { limit: SAMPLE }, signal), []);
  const stats = useLoad(async (signal) => (hasScope(who, "read", "admin") ? get("/stats", {}, signal) : null), []);
  const ended = list.value?.executions.flatMap((one) =>
    one.status !== "running" && one.time ? [{ ...one, time: one.time }] : [],
  );
  useCalmly(now.lastEnded, () => {
    list.again();
    stats.again();
    setRound((count) => count + 1);
  });
  return (
    <>
      <Header title="Now" lead="What runs, and how the last executions went." />
      <RunningNow now={now} isFirst={ended?.length === 0} />
      <RunningElsewhere />
      <Loaded of={list}>{() => ended && ended.length > 0 && <Trend ended={ended} stats={stats.value} />}</Loaded>
      <Failure error={stats.error} again={stats.again} />
      {stats.value && <CalledTools round={round} />}
      {stats.value && <TokensSection tokens={stats.value.tokens} />}
    </>
  );
}
