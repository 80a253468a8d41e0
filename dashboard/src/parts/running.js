// What runs now, told by the service whenever it changes: one stream, however much runs.
import { useEffect, useState } from "preact/hooks";
import { listen, Lost } from "../api.js";

const UNKNOWN = { running: null, total: 0, lastEnded: null, error: null };

/** `running` is null while the service has not told, and `error` says why; `lastEnded` changes when something has ended. */
export function useRunning() {
  const [state, setState] = useState(UNKNOWN);
  useEffect(() => {
    const stop = new AbortController();
    const hear = (event) => setState({ running: event.running, total: event.total, lastEnded: event.last_ended, error: null });
    const trouble = (error) =>
      stop.signal.aborted || error instanceof Lost || setState((old) => ({ ...UNKNOWN, lastEnded: old.lastEnded, error }));
    listen("events", { hear: (event) => void hear(event), trouble }, stop.signal).catch(trouble);
    return () => stop.abort();
  }, []);
  return state;
}
