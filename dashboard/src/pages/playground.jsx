// Write code, run it, watch it.
import { useRef, useState } from "preact/hooks";
import { get, path, post, remove } from "../api.js";
import { useLink } from "../link.js";
import { Failure, Field, Header, Loaded, Status } from "../parts/basics.jsx";
import { OutcomeBody, OutcomeFacts } from "../parts/outcome.jsx";
import { useRun } from "../parts/run.jsx";
import { Standing, usePlan } from "../parts/standing.jsx";
import { Output } from "../parts/text.jsx";
import { Timeline } from "../parts/timeline.jsx";
import { to } from "../route.js";
import { may, useAction, useLoad, useNow, useWho } from "../state.js";

const EXAMPLES = {
  "A result": "squares = [n * n for n in range(10)]\nsum(squares)",
  Streaming: "import time\nfor n in range(5):\n    print('step', n + 1, flush=True)\n    time.sleep(0.5)\n'done'",
  Tools: "from tool_discovery import list_servers, search_tools\n\nprint(list_servers())\nprint(search_tools('find'))",
};
const KEPT = "gristmill.draft";

export function Playground() {
  const who = useWho();
  const [code, setCode] = useState(() => sessionStorage.getItem(KEPT) || EXAMPLES["A result"]);
  const [session, setSession] = useState("");
  const [context, setContext] = useState("");
  const [run, setRun] = useState(null);
  const write = (text) => {
    setCode(text);
    sessionStorage.setItem(KEPT, text);
  };
  const start = useAction(async () => {
    const given = context.trim() ? parsed(context) : {};
    setRun(await post("execute", { code, session: session.trim() || null, context: given, background: true }));
  });
  const allowed = may(who, "execute");
  const isReady = allowed && code.trim();
  const keys = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && isReady) start.run();
  };
  return (
    <>
      <Header title="Playground" lead="Run a program as an agent would: the same sandbox, the same rules, the same record." />
      <form
        class="editor"
        onSubmit={(event) => {
          event.preventDefault();
          start.run();
        }}
      >
        <p class="chips">
          <span class="quiet">Begin with</span>
          {Object.entries(EXAMPLES).map(([name, text]) => (
            <button key={name} type="button" class="chip" onClick={() => write(text)}>
              {name}
            </button>
          ))}
        </p>
        <Field label="Code" hint="Python; the value of the last expression is the result. Ctrl+Enter runs it.">
          <textarea
            class="source"
            rows={Math.min(24, Math.max(8, code.split("\n").length + 1))}
            spellcheck={false}
            autocapitalize="off"
            autocomplete="off"
            value={code}
            onInput={(event) => write(event.currentTarget.value)}
            onKeyDown={keys}
          />
        </Field>
        <div class="filters">
          <Field label="Session" hint="keeps variables and files">
            <input
              value={session}
              maxLength={128}
              placeholder="none"
              onInput={(event) => setSession(event.currentTarget.value)}
            />
          </Field>
          <Field label="Context" hint="JSON that the code reads as context.name">
            <input value={context} placeholder='{"user": 7}' onInput={(event) => setContext(event.currentTarget.value)} />
          </Field>
          <button type="submit" aria-busy={start.busy} disabled={!isReady}>
            Run
          </button>
        </div>
        {!allowed && (
          <p class="callout">
            Running needs a token with the scope <code>execute</code>. <a href={to("token")}>Use another token</a>
          </p>
        )}
        <Failure error={start.error} />
      </form>
      {run && <Watched key={run.id} id={run.id} session={run.session} />}
    </>
  );
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`The context is not JSON: ${error.message}`);
  }
}

/** How it is: as was heard, or nobody knows while the service does not answer. */
function statusOf(run, lost) {
  if (run.outcome) return run.outcome.status;
  if (run.problem) return run.problem.code === "cancelled" ? "cancelled" : "error";
  return lost ? "unknown" : "running";
}

function Watched({ id, session }) {
  const run = useRun(id);
  const { lost } = useLink();
  const now = useNow(!run.done, 250);
  const heading = useRef(null);
  const cancel = useAction(async () => {
    await remove(`executions/${path(id)}`);
    heading.current?.focus(); // the button goes with what it cancelled
  });
  const plan = usePlan(run.outcome && { id, status: run.outcome.status, outcome: run.outcome });
  const status = statusOf(run, lost);
  const isGone = run.error?.status === 404;
  return (
    <section aria-labelledby="watched">
      <h2 id="watched" tabIndex={-1} ref={heading}>
        <a href={to("executions", id)}>Execution</a> {isGone ? null : <Status value={status} />}
      </h2>
      <p class="unseen" role="status">
        {run.done ? `ended: ${status}` : isGone ? "" : status}
      </p>
      {!run.done && !isGone && (
        <p class="actions before">
          <button type="button" class="plain" disabled={lost !== null} aria-busy={cancel.busy} onClick={cancel.run}>
            Cancel
          </button>
        </p>
      )}
      {isGone && <Gone id={id} />}
      <Failure error={cancel.error || (!isGone && run.error) || (status === "error" && failure(run.problem))} />
      {status === "cancelled" && <p class="quiet">It was cancelled; what it had done by then is done.</p>}
      <Output text={run.output} running={!run.done} cut={run.cut} dropped={run.dropped} />
      {run.calls.length > 0 && <Timeline calls={run.calls} now={now} isLive />}
      {plan.value && <Standing approval={plan.value} />}
      {run.outcome && <OutcomeFacts outcome={run.outcome} />}
      {run.outcome && <OutcomeBody outcome={run.outcome} workspace={session || id} />}
    </section>
  );
}

const failure = (problem) => ({ code: problem.code, message: problem.message || "It was broken off by the service" });

/** The process that answers now has no stream of it: the record says what became of it. */
function Gone({ id }) {
  const [isOver, setOver] = useState(false);
  const found = useLoad((signal) => get(`executions/${path(id)}`, signal), [id], { every: isOver ? 0 : 3000 });
  const status = found.value?.status;
  if (!isOver && status && status !== "running") setOver(true);
  return (
    <Loaded of={found}>
      {() => (
        <p class="callout">
          {isOver ? "Another process of the service answers now: " : "Another process of the service runs it: "}
          <Status value={status} />. <a href={to("executions", id)}>What is known of it</a>
        </p>
      )}
    </Loaded>
  );
}
