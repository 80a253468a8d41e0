// One execution as it happens: its events become output, calls and at the end an outcome.
import { useEffect, useReducer } from "preact/hooks";
import { listen, path } from "../api.js";

const MOST = 200_000; // characters of output that a page keeps

const FRESH = { output: "", calls: [], outcome: null, problem: null, done: false, dropped: 0, error: null };

function hear(run, event) {
  switch (event.type) {
    case "reset":
      return FRESH;
    case "output":
      return { ...run, output: (run.output + event.text).slice(-MOST) };
    case "call_started":
      return { ...run, calls: [...run.calls, { id: event.call, tool: event.tool, status: "running", begin: event.at }] };
    case "call_progressed":
      return changed(run, event.call, { message: event.message || progress(event) });
    case "call_finished":
      return changed(run, event.call, { status: event.ok ? "ok" : "failed", end: event.at, message: undefined });
    case "outcome":
      return { ...run, outcome: event.outcome, done: true };
    case "problem":
      return { ...run, problem: event.problem, done: true };
    case "dropped":
      return { ...run, dropped: run.dropped + event.events };
    case "failed":
      return { ...run, error: event.error };
    default:
      return run;
  }
}

const progress = ({ progress: at, total }) => (total ? `${Math.round((100 * at) / total)} %` : String(at));

const changed = (run, id, fields) => ({
  ...run,
  calls: run.calls.map((call) => (call.id === id ? { ...call, ...fields } : call)),
});

/** Follow the events of an execution while the page shows it. */
export function useRun(id) {
  const [run, tell] = useReducer(hear, FRESH);
  useEffect(() => {
    if (!id) return undefined;
    const stop = new AbortController();
    tell({ type: "reset" });
    listen(`executions/${path(id)}/events`, (event) => stop.signal.aborted || tell(event), stop.signal).catch(
      (error) => stop.signal.aborted || tell({ type: "failed", error }),
    );
    return () => stop.abort();
  }, [id]);
  return run;
}
