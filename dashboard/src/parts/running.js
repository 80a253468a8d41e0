// What runs now, told by the service whenever it changes.
import { useEffect, useState } from "preact/hooks";
import { listen } from "../api.js";

const AGAIN = 5000; // after a stream that could not be taken up

/** `running` is null until the service has told; `lastEnded` changes when something has ended. */
export function useRunning() {
  const [state, setState] = useState({ running: null, lastEnded: null, error: null });
  useEffect(() => {
    const stop = new AbortController();
    let timer = null;
    const hear = (event) => setState({ running: event.running, lastEnded: event.last_ended, error: null });
    const follow = () =>
      listen("events", hear, stop.signal)
        .catch((error) => stop.signal.aborted || setState((old) => ({ ...old, error })))
        .finally(() => {
          if (!stop.signal.aborted) timer = setTimeout(follow, AGAIN);
        });
    follow();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, []);
  return state;
}
