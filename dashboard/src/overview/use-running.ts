// What runs now. The service sends it whenever it changes, over one stream for all executions.
import { useEffect, useState } from "preact/hooks";
import { Lost, type Trouble, toTrouble } from "../api/errors.ts";
import type { RunningEvent, RunningExecution } from "../api/shapes.ts";
import { listen } from "../api/streams.ts";

export interface Running {
  /** Null until the service has sent it; then `error` may say why. */
  running: RunningExecution[] | null;
  total: number;
  /** Changes when an execution has ended. */
  lastEnded: number | null;
  error: Trouble | null;
}

const UNKNOWN: Running = { running: null, total: 0, lastEnded: null, error: null };

export function useRunning(): Running {
  const [state, setState] = useState(UNKNOWN);
  useEffect(() => {
    const stop = new AbortController();
    const onTrouble = (error: unknown) => {
      if (stop.signal.aborted || error instanceof Lost) return;
      setState((old) => ({ ...UNKNOWN, lastEnded: old.lastEnded, error: toTrouble(error) }));
    };
    const onEvent = ({ running, total, last_ended: lastEnded }: RunningEvent) => {
      setState({ running, total, lastEnded, error: null });
      return false;
    };
    listen("/events", {}, { onEvent, onTrouble }, stop.signal).catch(onTrouble);
    return () => stop.abort();
  }, []);
  return state;
}
