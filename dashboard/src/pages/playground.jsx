// Write code, run it, watch it.
import { useState } from "preact/hooks";
import { path, post, remove } from "../api.js";
import { Failure, Field, Header, Status } from "../parts/basics.jsx";
import { OutcomeBody, OutcomeFacts } from "../parts/outcome.jsx";
import { useRun } from "../parts/run.jsx";
import { Output } from "../parts/text.jsx";
import { Timeline } from "../parts/timeline.jsx";
import { may, to, useAction, useNow, useWho } from "../state.js";

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
  const [id, setId] = useState(null);
  const write = (text) => {
    setCode(text);
    sessionStorage.setItem(KEPT, text);
  };
  const start = useAction(async () => {
    const given = context.trim() ? parsed(context) : {};
    const accepted = await post("execute", { code, session: session.trim() || null, context: given, background: true });
    setId(accepted.id);
  });
  const keys = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) start.run();
  };
  const allowed = may(who, "execute");
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
          <button type="submit" disabled={!allowed || start.busy || !code.trim()}>
            Run
          </button>
        </div>
        {!allowed && (
          <p class="callout">
            Running needs a token with the scope <code>execute</code>.
          </p>
        )}
        <Failure error={start.error} />
      </form>
      {id && <Watched key={id} id={id} />}
    </>
  );
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw Object.assign(new Error(`The context is not JSON: ${error.message}`), { code: "context" });
  }
}

function Watched({ id }) {
  const run = useRun(id);
  const now = useNow(!run.done, 250);
  const cancel = useAction(() => remove(`executions/${path(id)}`));
  return (
    <section aria-labelledby="watched">
      <h2 id="watched">
        <a href={to("executions", id)}>Execution</a>{" "}
        {run.outcome ? <Status value={run.outcome.status} /> : <Status value={run.done ? "error" : "running"} />}
      </h2>
      <p class="unseen" role="status">
        {run.outcome ? `ended: ${run.outcome.status}` : run.done ? "ended" : "running"}
      </p>
      {!run.done && (
        <button type="button" class="plain" disabled={cancel.busy} onClick={cancel.run}>
          Cancel
        </button>
      )}
      <Failure
        error={run.error || cancel.error || (run.problem && { code: run.problem.code, message: run.problem.message || "" })}
      />
      <Output text={run.output} running={!run.done} />
      {run.calls.length > 0 && <Timeline calls={run.calls} now={now} />}
      {run.outcome && <OutcomeFacts outcome={run.outcome} />}
      {run.outcome && <OutcomeBody outcome={run.outcome} />}
    </section>
  );
}
