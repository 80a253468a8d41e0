// One execution as it happens: its events become output, calls and at the end an outcome.
import { useEffect, useReducer } from "preact/hooks";
import { listen, Lost, path } from "../api.js";

const MOST = 200_000; // characters of output that a page keeps

/** `cut` and `dropped` say what is missing at the beginning: characters that we let go, events that the service did. */
const FRESH = { output: "", cut: 0, calls: [], outcome: null, problem: null, done: false, dropped: 0, error: null };

function hear(run, event) {
  switch (event.type) {
    case "reset":
      return FRESH;
    case "output": {
      const output = run.output + event.text;
      return { ...run, output: output.slice(-MOST), cut: run.cut + Math.max(0, output.length - MOST), error: null };
    }
    case "call_started":
      return { ...run, calls: [...run.calls, { id: event.call, tool: event.tool, status: "running", begin: event.at }] };
    case "call_progressed":
      return changed(run, event.call, { message: event.message || progress(event) });
    case "call_finished":
      return changed(run, event.call, { status: event.ok ? "ok" : "failed", end: event.at, message: undefined });
    case "outcome":
      return { ...run, outcome: event.outcome, done: true, error: null };
    case "problem":
      return { ...run, problem: event.problem, done: true, error: null };
    case "dropped":
      return { ...run, dropped: run.dropped + event.events };
    case "failed":
      return { ...run, error: event.error };
    default:
      return run;
  }
}

const LAST = new Set(["outcome", "problem"]);

const progress = ({ progress: at, total }) => (total ? `${Math.round((100 * at) / total)} %` : String(at));

const changed = (run, id, fields) => ({
  ...run,
  calls: run.calls.map((call) => (call.id === id ? { ...call, ...fields } : call)),
});

/** Follow the events of an execution while the page shows it; an `error` of status 404: nobody there has heard of it any more. */
export function useRun(id) {
  const [run, tell] = useReducer(hear, FRESH);
  useEffect(() => {
    if (!id) return undefined;
    const stop = new AbortController();
    const heard = (event) => {
      if (!stop.signal.aborted) tell(event);
      return LAST.has(event.type);
    };
    const trouble = (error) => error instanceof Lost || heard({ type: "failed", error });
    tell({ type: "reset" });
    listen(`executions/${path(id)}/events`, { hear: heard, trouble }, stop.signal).catch(trouble);
    return () => stop.abort();
  }, [id]);
  return run;
}
