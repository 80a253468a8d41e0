// One execution: live while it runs, on record afterwards.
import { useEffect, useState } from "preact/hooks";
import { get, path, remove } from "../api.js";
import { useLink } from "../link.js";
import { Crumbs, Empty, Facts, Failure, Header, Loaded, SessionName, Status, Time } from "../parts/basics.jsx";
import { COUNTED, OutcomeBody, OutcomeFacts } from "../parts/outcome.jsx";
import { Resume, useResume } from "../parts/resume.jsx";
import { useRun } from "../parts/run.jsx";
import { Kin, Standing, standing, useKin, usePlan } from "../parts/standing.jsx";
import { Sure } from "../parts/sure.jsx";
import { Code, Output, Plain } from "../parts/text.jsx";
import { fromRecord, Timeline } from "../parts/timeline.jsx";
import { Spent } from "../parts/tokens.jsx";
import { to } from "../route.js";
import { may, owns, useAction, useLoad, useNow, useWho } from "../state.js";
import { full, ms, shortId } from "../words.js";

const title = (id) => `Execution ${shortId(id)}`;

const ASK = 3000; // milliseconds between looks at what no stream tells of

/** What another process over the same store runs: here it is on record, and nothing of it can be heard. */
const isElsewhere = (execution) => execution?.status === "running" && typeof execution.seq === "number";

export function Execution({ id }) {
  const [isFar, setFar] = useState(false);
  const found = useLoad((signal) => get(`executions/${path(id)}`, signal), [id], { every: isFar ? ASK : 0 });
  const execution = found.error?.status === 404 ? undefined : found.value;
  const isRunning = execution?.status === "running";
  if (isElsewhere(execution) && !isFar) setFar(true);
  if (found.value && !isRunning && isFar) setFar(false); // it has ended, or nobody knows of it: there is nothing more to ask
  return (
    <>
      <Crumbs>
        <a href={to("executions")}>Executions</a>
      </Crumbs>
      {execution && <Failure error={found.error} again={found.again} />}
      {isRunning && <Live execution={execution} again={found.again} isFar={isFar} left={() => setFar(true)} />}
      {execution && !isRunning && <Ended execution={execution} />}
      {!execution && (
        <>
          <Header title={title(id)} />
          {found.value && (
            <p class="callout">It was under way when the service ended, and nothing of it was on record by then.</p>
          )}
          <Loaded of={{ ...found, value: undefined }} />
        </>
      )}
    </>
  );
}

/** `isFar`: another process runs it; `left` is called when the one that answers has no stream of it. */
function Live({ execution, again, isFar, left }) {
  const run = useRun(isElsewhere(execution) ? null : execution.id);
  const isGone = run.error?.status === 404;
  const now = useNow(!run.done, 500);
  const who = useWho();
  const { lost } = useLink();
  const cancel = useAction(async () => {
    await remove(`executions/${path(execution.id)}`);
    document.getElementById("main").focus({ preventScroll: true }); // the button goes with what it cancelled
  });
  useEffect(() => {
    if (run.done) again(); // the record says more than the stream did
    if (isGone) left();
  }, [run.done, isGone]);
  const time = ms(Math.max(0, now - execution.time) * 1000);
  return (
    <>
      <Header title={title(execution.id)} lead={lost ? `It ran for ${time} when the connection was lost` : `Running for ${time}`}>
        {!isFar && may(who, "execute") && owns(who, execution.caller) && (
          <Sure label="Cancel" ask="Cancel it" onConfirm={cancel.run} disabled={run.done || lost !== null} />
        )}
      </Header>
      <Failure error={cancel.error || (!isGone && run.error)} />
      {isFar && (
        <p class="callout">
          Another process of the service runs it. Its code and its output are shown once it has ended; until then it can be
          cancelled there only.
        </p>
      )}
      <Facts
        of={{
          Status: <Status value={lost ? "unknown" : "running"} />,
          Began: <Time at={execution.time} />,
          Session: <SessionName name={execution.session} caller={execution.caller} />,
          Caller: execution.caller,
          Id: <code>{execution.id}</code>,
        }}
      />
      {!isFar && <Heard execution={execution} run={run} />}
      <section>
        <h2>Tool calls</h2>
        {isFar ? (
          <Timeline calls={fromRecord(execution.calls || [])} now={now} none="None has ended so far." />
        ) : (
          <Timeline calls={run.calls} now={now} isLive none="It has called no tools so far." />
        )}
      </section>
    </>
  );
}

const Heard = ({ execution, run }) => (
  <>
    {execution.code ? (
      <section>
        <h2>Code</h2>
        <Code text={execution.code} />
      </section>
    ) : (
      <p class="quiet">Its code is shown once it has ended: it is masked when it is recorded. Its caller sees it now.</p>
    )}
    <section>
      <h2>Output</h2>
      <Output text={run.output} running={!run.done} cut={run.cut} dropped={run.dropped} />
    </section>
  </>
);

function Ended({ execution }) {
  const { outcome } = execution;
  const who = useWho();
  const plan = usePlan(execution);
  const kin = useKin(execution);
  const resume = useResume(execution, plan.value, kin);
  const facts = {
    Session: <SessionName name={execution.session} caller={execution.caller} />,
    Caller: execution.caller,
    Id: <code>{execution.id}</code>,
  };
  const status = <Status value={plan.value && standing(plan.value) !== "pending" ? standing(plan.value) : execution.status} />;
  return (
    <>
      <Header title={title(execution.id)} lead={<Time at={execution.time} format={(at) => full.format(at * 1000)} />}>
        <Resume of={resume} />
      </Header>
      <Failure error={resume.error} />
      {execution.status === "interrupted" && <Interrupted isMine={execution.caller === who?.caller} />}
      {plan.value && <Standing approval={plan.value} />}
      <Kin kin={outcome?.replay ? { ...kin, of: null } : kin} />
      {outcome ? (
        <OutcomeFacts outcome={outcome} status={status} more={facts} />
      ) : (
        <Facts of={{ Status: status, Took: took(execution), ...facts }} />
      )}
      <section>
        <h2>Code</h2>
        {execution.code ? <Code text={execution.code} /> : <p class="quiet">{noCode(execution)}</p>}
      </section>
      <section>
        <h2>Output</h2>
        {outcome ? <Output text={outcome.output} running={false} /> : <NoOutput status={execution.status} />}
      </section>
      {outcome ? (
        <OutcomeBody outcome={outcome} workspace={workspaceOf(execution, who)} />
      ) : (
        execution.error && <Plain text={execution.error} label="Error" className="bad" />
      )}
      <section>
        <h2>Tool calls</h2>
        <Timeline calls={fromRecord(execution.calls || [])} now={execution.time} none={noCalls(execution)} />
      </section>
      {may(who, "read", "admin") && COUNTED.has(execution.status) && <Spent of={{ execution: execution.id }} />}
    </>
  );
}

/** The session that has its files; without one these are under its own name. */
const workspaceOf = ({ id, session, caller }, who) => (owns(who, caller) ? session || id : null);

const took = (execution) => (typeof execution.ms === "number" ? ms(execution.ms) : null);

const Interrupted = ({ isMine }) => (
  <p class="callout">
    The service ended before it did. Nothing is lost: {isMine ? "resume it" : "its caller can resume it"}, and calls that were
    answered are not made again.
  </p>
);

const noCode = ({ status }) =>
  status === "interrupted"
    ? "Its program is kept sealed, to be resumed; it is shown once it has run, since that is when it is masked."
    : "The code is not on record: without masks only its hash is kept.";

const noCalls = ({ status }) =>
  status === "interrupted" ? "No call of it had ended when the service did." : "It called no tools.";

const NoOutput = ({ status }) => {
  if (status === "interrupted") return <p class="quiet">It has not ended, so there is no output on record.</p>;
  if (status === "cancelled") return <p class="quiet">It was cancelled, so it has no outcome; what it did before is below.</p>;
  return (
    <Empty title="The output is no longer kept.">
      <p>
        Outcomes stay for <code>serve.kept_seconds</code> after the end, in the process that ran them; those of the background for{" "}
        <code>records.journal_days</code>, in the store. The record keeps code and calls.
      </p>
    </Empty>
  );
};
