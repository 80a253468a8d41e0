// The run that the playground has started.
import { useRef, useState } from "preact/hooks";
import { get, remove } from "../api/client.ts";
import { useConnection } from "../api/connection.ts";
import type { RunProblem } from "../api/shapes.ts";
import { PlanSentence, usePlan } from "../approvals/plan-state.tsx";
import { OutcomeBody, OutcomeFacts } from "../executions/outcome.tsx";
import { Output } from "../executions/output.tsx";
import { Timeline } from "../executions/timeline.tsx";
import { type Run, useRun } from "../executions/use-run.ts";
import { linkTo } from "../hooks/route.ts";
import { useNow } from "../hooks/time.ts";
import { useAction } from "../hooks/use-action.ts";
import { useLoad } from "../hooks/use-load.ts";
import { Failure, Loaded } from "../parts/loading.tsx";
import { Status } from "../parts/status.tsx";

/** The status by the events so far; it is unknown while the service does not answer. */
function findStatus(run: Run, isLost: boolean) {
  if (run.outcome) return run.outcome.status;
  if (run.problem) return run.problem.code === "cancelled" ? "cancelled" : "error";
  return isLost ? "unknown" : "running";
}

export function WatchedRun({ id, session }: { id: string; session?: string | null }) {
  const run = useRun(id);
  const { lost } = useConnection();
  const now = useNow(!run.done, 250);
  const heading = useRef<HTMLHeadingElement>(null);
  const cancel = useAction(async () => {
    await remove("/executions/{id}", { id });
    heading.current?.focus(); // the button disappears together with the execution
  });
  const plan = usePlan(run.outcome && { id, status: run.outcome.status, outcome: run.outcome });
  const status = findStatus(run, lost !== null);
  const isGone = run.error?.status === 404;
  const ending = status === "error" && run.problem ? toTrouble(run.problem) : null;
  return (
    <section aria-labelledby="watched">
      <h2 id="watched" tabIndex={-1} ref={heading}>
        <a href={linkTo("executions", id)}>Execution</a> {isGone ? null : <Status value={status} />}
      </h2>
      <p class="unseen" role="status">
        {run.done ? `ended: ${status}` : isGone ? "" : status}
      </p>
      {!run.done && !isGone && (
        <p class="actions before">
          <button type="button" class="plain" disabled={lost !== null} aria-busy={cancel.busy} onClick={() => cancel.run()}>
            Cancel
          </button>
        </p>
      )}
      {isGone && <Gone id={id} />}
      <Failure error={cancel.error || (!isGone && run.error) || ending} />
      {status === "cancelled" && <p class="quiet">It was cancelled; what it had done by then is done.</p>}
      <Output text={run.output} isRunning={!run.done} cut={run.cut} dropped={run.dropped} />
      {run.calls.length > 0 && <Timeline calls={run.calls} now={now} isLive />}
      {plan.value && <PlanSentence approval={plan.value} />}
      {run.outcome && <OutcomeFacts outcome={run.outcome} />}
      {run.outcome && <OutcomeBody outcome={run.outcome} workspace={session || id} />}
    </section>
  );
}

const toTrouble = ({ code, message }: RunProblem) => ({ code, message: message || "The service ended the execution" });

/** Shown if the process that answers has no stream of the execution: its record says what became of it. */
function Gone({ id }: { id: string }) {
  const [isOver, setOver] = useState(false);
  const load = (signal: AbortSignal) => get("/executions/{id}", { id }, signal);
  const found = useLoad(load, [id], { every: isOver ? 0 : 3000 });
  const status = found.value?.status;
  if (!isOver && status && status !== "running") setOver(true);
  return (
    <Loaded of={found}>
      {(execution) => (
        <p class="callout">
          {isOver ? "Another process of the service answers now: " : "Another process of the service runs it: "}
          <Status value={execution.status} />. <a href={linkTo("executions", id)}>See its page</a>
        </p>
      )}
    </Loaded>
  );
}
