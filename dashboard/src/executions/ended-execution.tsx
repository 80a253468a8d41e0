// An execution that has ended: its record, and its outcome as long as that is kept.
import type { Execution, Who } from "../api/shapes.ts";
import { findPlanState, PlanSentence, usePlan } from "../approvals/plan-state.tsx";
import { hasScope, ownsOrAdmins, useWho } from "../hooks/who.ts";
import { Empty } from "../parts/empty.tsx";
import { Facts } from "../parts/facts.tsx";
import { Failure } from "../parts/loading.tsx";
import { Header } from "../parts/page-header.tsx";
import { SessionName } from "../parts/session-name.tsx";
import { Status, Time } from "../parts/status.tsx";
import { Code, Plain } from "../parts/text-boxes.tsx";
import { TokensOf } from "../parts/tokens.tsx";
import { editAgain } from "../playground/draft.ts";
import { formatFullTime, formatMs } from "../text/format.ts";
import { Copies } from "./copies.tsx";
import { findErrorLine } from "./error-line.ts";
import { COUNTED, OutcomeBody, OutcomeFacts } from "./outcome.tsx";
import { Output } from "./output.tsx";
import { ResumeButton, useResume } from "./resume.tsx";
import { ResumeNotes, useResumeHistory } from "./resumes.tsx";
import { fromRecords, Timeline } from "./timeline.tsx";
import { titleOf } from "./title.ts";

export function EndedExecution({ execution }: { execution: Execution }) {
  const { outcome } = execution;
  const who = useWho();
  const plan = usePlan(execution);
  const history = useResumeHistory(execution);
  const resume = useResume(execution, plan.value, history);
  const planState = plan.value ? findPlanState(plan.value) : "pending";
  const status = <Status value={planState === "pending" ? execution.status : planState} />;
  const error = outcome?.error ?? execution.error;
  const facts = {
    Called: execution.title,
    Session: <SessionName name={execution.session} caller={execution.caller} />,
    Caller: execution.caller,
    Id: <code>{execution.id}</code>,
  };
  return (
    <>
      <Header title={titleOf(execution.id)} lead={<Time at={execution.time} format={formatFullTime} />}>
        {execution.code && hasScope(who, "execute") && (
          <button type="button" class="plain" onClick={() => editAgain(execution, execution.caller === who?.caller)}>
            Edit and run again
          </button>
        )}
        <ResumeButton of={resume} />
      </Header>
      <Failure error={resume.error} />
      {execution.status === "interrupted" && <Interrupted isMine={execution.caller === who?.caller} />}
      {plan.value && <PlanSentence approval={plan.value} />}
      <ResumeNotes history={outcome?.replay ? { ...history, resumed: null } : history} />
      {outcome ? (
        <OutcomeFacts outcome={outcome} status={status} more={facts} />
      ) : (
        <Facts of={{ Status: status, Took: typeof execution.ms === "number" ? formatMs(execution.ms) : null, ...facts }} />
      )}
      {error && (
        <section>
          <h2>Error</h2>
          <Plain text={error} label="Error" className="bad" />
        </section>
      )}
      <section>
        <h2>Code</h2>
        {execution.code ? (
          <Code text={execution.code} marked={error ? findErrorLine(error) : null} />
        ) : (
          <p class="quiet">{explainNoCode(execution)}</p>
        )}
        <Copies execution={execution} />
      </section>
      <section>
        <h2>Output</h2>
        {outcome ? <Output text={outcome.output} isRunning={false} /> : <NoOutput status={execution.status} />}
      </section>
      {outcome ? <OutcomeBody outcome={{ ...outcome, error: null }} workspace={findWorkspace(execution, who)} /> : null}
      <section>
        <h2>Tool calls</h2>
        <Timeline
          calls={fromRecords(execution.calls || [])}
          now={execution.time ?? 0}
          none={execution.status === "interrupted" ? "No call of it had ended when the service ended." : undefined}
        />
      </section>
      {hasScope(who, "read", "admin") && COUNTED.has(execution.status) && <TokensOf of={{ execution: execution.id }} />}
    </>
  );
}

/** The session with its files, if the user may open it. An execution without a session has its files under its own id. */
const findWorkspace = ({ id, session, caller }: Execution, who: Who | null) => (ownsOrAdmins(who, caller) ? session || id : null);

const Interrupted = ({ isMine }: { isMine: boolean }) => (
  <p class="callout">
    The service ended before it did. Nothing is lost: {isMine ? "resume it" : "its caller can resume it"}, and calls that were
    answered are not made again.
  </p>
);

const explainNoCode = ({ status }: Execution) =>
  status === "interrupted"
    ? "Its program is kept sealed, to be resumed. It is shown when it has run, because it is masked then."
    : "The code is not on record: without masks only its hash is kept.";

const NoOutput = ({ status }: { status: string }) => {
  if (status === "interrupted") return <p class="quiet">It has not ended, so there is no output on record.</p>;
  if (status === "cancelled")
    return <p class="quiet">It was cancelled, so it has no outcome. The calls that it made are below.</p>;
  return (
    <Empty title="The output is no longer kept.">
      <p>
        Outcomes are kept for <code>records.journal_days</code>, as long as there is room (<code>records.outcomes_mb</code>). The
        record keeps code and calls.
      </p>
    </Empty>
  );
};
