// One execution: live while it runs, on record afterwards.
import { useEffect } from "preact/hooks";
import { get, path, post, remove } from "../api.js";
import { Empty, Facts, Failure, Header, Loaded, Status, Sure, Time } from "../parts/basics.jsx";
import { OutcomeBody, OutcomeFacts } from "../parts/outcome.jsx";
import { useRun } from "../parts/run.jsx";
import { Code, Output, Plain } from "../parts/text.jsx";
import { fromRecord, Timeline } from "../parts/timeline.jsx";
import { may, to, useAction, useLoad, useNow, useWho } from "../state.js";
import { ms, shortId } from "../words.js";

export function Execution({ id }) {
  const found = useLoad((signal) => get(`executions/${path(id)}`, signal), [id]);
  return (
    <>
      <p class="crumbs">
        <a href={to("executions")}>Executions</a>
      </p>
      <Loaded of={found}>
        {(execution) =>
          execution.status === "running" ? <Live execution={execution} again={found.again} /> : <Ended execution={execution} />
        }
      </Loaded>
    </>
  );
}

const Session = ({ name }) => (name ? <a href={to("sessions", name)}>{name}</a> : "none");

function Live({ execution, again }) {
  const run = useRun(execution.id);
  const now = useNow(!run.done, 500);
  const who = useWho();
  const cancel = useAction(() => remove(`executions/${path(execution.id)}`));
  useEffect(() => {
    if (run.done) again(); // the record says more than the stream did
  }, [run.done]);
  return (
    <>
      <Header title={`Execution ${shortId(execution.id)}`} lead={<>Running for {ms(Math.max(0, now - execution.time) * 1000)}</>}>
        {may(who, "execute") && <Sure label="Cancel" ask="Cancel it" onConfirm={cancel.run} disabled={run.done} />}
      </Header>
      <Failure error={cancel.error || run.error} />
      <Facts
        of={{
          Status: <Status value="running" />,
          Began: <Time at={execution.time} />,
          Session: <Session name={execution.session} />,
          Caller: execution.caller,
        }}
      />
      {execution.code && (
        <section>
          <h2>Code</h2>
          <Code text={execution.code} />
        </section>
      )}
      <section>
        <h2>Output</h2>
        <Output text={run.output} running={!run.done} />
      </section>
      <section>
        <h2>Tool calls</h2>
        <Timeline calls={run.calls} now={now} />
      </section>
    </>
  );
}

function Ended({ execution }) {
  const { outcome } = execution;
  const who = useWho();
  const resume = useAction(async () => {
    const { id } = await post("execute", { resume: execution.id, session: execution.session, background: true });
    location.hash = to("executions", id);
  });
  const canResume = may(who, "execute") && execution.caller === who.caller && execution.status !== "ok";
  return (
    <>
      <Header title={`Execution ${shortId(execution.id)}`} lead={<Time at={execution.time} />}>
        {canResume && (
          <button type="button" disabled={resume.busy} onClick={resume.run}>
            Resume
          </button>
        )}
      </Header>
      <Failure error={resume.error} />
      {outcome ? (
        <OutcomeFacts outcome={outcome} />
      ) : (
        <Facts of={{ Status: <Status value={execution.status} />, Took: ms(execution.ms) }} />
      )}
      <Facts of={{ Session: <Session name={execution.session} />, Caller: execution.caller, Id: <code>{execution.id}</code> }} />
      <section>
        <h2>Code</h2>
        {execution.code ? (
          <Code text={execution.code} />
        ) : (
          <p class="quiet">The code is not on record: without masks only its hash is kept.</p>
        )}
      </section>
      <section>
        <h2>Output</h2>
        {outcome ? (
          <Output text={outcome.output} running={false} />
        ) : (
          <Empty title="The output is no longer kept.">
            <p>
              Outcomes stay for <code>serve.kept_seconds</code> after the end, and only while the service runs; the record keeps
              code and calls.
            </p>
          </Empty>
        )}
      </section>
      {outcome ? (
        <OutcomeBody outcome={outcome} />
      ) : (
        execution.error && <Plain text={execution.error} label="Error" className="bad" />
      )}
      <section>
        <h2>Tool calls</h2>
        <Timeline calls={fromRecord(execution.calls || [])} now={execution.time} />
      </section>
    </>
  );
}
