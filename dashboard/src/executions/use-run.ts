// One execution while it runs: its events become output, calls and at the end an outcome.
import { useEffect, useReducer } from "preact/hooks";
import { Lost, type Trouble, toTrouble } from "../api/errors.ts";
import type { Outcome, RunEvent, RunProblem } from "../api/shapes.ts";
import { listen } from "../api/streams.ts";
import type { TimedCall } from "./timeline.tsx";

const MOST = 200_000; // characters of output that a page keeps

export interface Run {
  output: string;
  /** How many characters at the beginning of the output the page no longer keeps. */
  cut: number;
  calls: TimedCall[];
  outcome: Outcome | null;
  /** Why the execution ended without an outcome. */
  problem: RunProblem | null;
  done: boolean;
  /** How many events at the beginning the service no longer keeps. */
  dropped: number;
  /** Why there are no events. The status 404 means that the process that answers does not have the execution. */
  error: Trouble | null;
}

type Change = RunEvent | { type: "reset" } | { type: "failed"; error: Trouble };
type ProgressEvent = Extract<RunEvent, { type: "call_progressed" }>;

const FRESH: Run = {
  output: "",
  cut: 0,
  calls: [],
  outcome: null,
  problem: null,
  done: false,
  dropped: 0,
  error: null,
};

function applyChange(run: Run, event: Change): Run {
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
      return changeCall(run, event.call, { message: event.message || describeProgress(event) });
    case "call_finished":
      return changeCall(run, event.call, {
        status: event.planned ? "planned" : event.ok ? "ok" : "failed",
        end: event.at,
        message: undefined,
      });
    case "outcome":
      return { ...run, outcome: event.outcome, done: true, error: null };
    case "problem":
      return { ...run, problem: event.problem, done: true, error: null };
    case "dropped":
      return { ...run, dropped: run.dropped + event.events };
    case "failed":
      return { ...run, error: event.error };
    default:
      return run; // a newer service may send events that this page does not know
  }
}

const describeProgress = ({ progress, total }: ProgressEvent) =>
  total ? `${Math.round((100 * progress) / total)} %` : String(progress);

const changeCall = (run: Run, id: number, fields: Partial<TimedCall>): Run => ({
  ...run,
  calls: run.calls.map((call) => (call.id === id ? { ...call, ...fields } : call)),
});

/** Follows the events of an execution while the component is shown; without an id, nothing is followed. */
export function useRun(id: string | null): Run {
  const [run, change] = useReducer(applyChange, FRESH);
  useEffect(() => {
    if (!id) return undefined;
    const stop = new AbortController();
    const onEvent = (event: RunEvent) => {
      if (!stop.signal.aborted) change(event);
      return event.type === "outcome" || event.type === "problem";
    };
    const onTrouble = (error: unknown) => {
      if (!(error instanceof Lost) && !stop.signal.aborted) change({ type: "failed", error: toTrouble(error) });
    };
    change({ type: "reset" });
    listen("/executions/{id}/events", { id }, { onEvent, onTrouble }, stop.signal).catch(onTrouble);
    return () => stop.abort();
  }, [id]);
  return run;
}
