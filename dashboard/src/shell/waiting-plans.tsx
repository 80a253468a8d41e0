// How many plans wait for a decision; every page shows it.
import { useEffect } from "preact/hooks";
import { get } from "../api/client.ts";
import { DECIDED } from "../approvals/decided-event.ts";
import { useLoad } from "../hooks/use-load.ts";
import { setWaitingCount } from "./tab-title.ts";

const MOST = 100; // plans that are counted

export function WaitingPlans() {
  const list = useLoad((signal) => get("/approvals", { limit: MOST }, signal), [], { every: 10_000 });
  const waiting = list.value?.length;
  useEffect(() => {
    addEventListener(DECIDED, list.again);
    return () => removeEventListener(DECIDED, list.again);
  }, [list.again]);
  useEffect(() => setWaitingCount(waiting === MOST ? `${MOST}+` : waiting), [waiting]);
  const shown = waiting === MOST ? `${MOST}+` : waiting;
  return waiting ? (
    <span class="badge accent" aria-label={`${shown} waiting`}>
      {shown}
    </span>
  ) : null;
}
