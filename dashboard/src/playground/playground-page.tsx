// Write code, run it, watch it.
import type { TargetedKeyboardEvent } from "preact";
import { useState } from "preact/hooks";
import { post } from "../api/client.ts";
import { linkTo } from "../hooks/route.ts";
import { useAction } from "../hooks/use-action.ts";
import { hasScope, useWho } from "../hooks/who.ts";
import { Field } from "../parts/fields.tsx";
import { Failure } from "../parts/loading.tsx";
import { Header } from "../parts/page-header.tsx";
import { shortenId } from "../text/format.ts";
import { forgetAgain, keepDraft, readAgain, readDraft } from "./draft.ts";
import { WatchedRun } from "./watched-run.tsx";

const SQUARES = "squares = [n * n for n in range(10)]\nsum(squares)";
const EXAMPLES = {
  "A result": SQUARES,
  Streaming: "import time\nfor n in range(5):\n    print('step', n + 1, flush=True)\n    time.sleep(0.5)\n'done'",
  Tools: "from tool_discovery import list_servers, search_tools\n\nprint(list_servers())\nprint(search_tools('find'))",
};

interface Started {
  id: string;
  session?: string | null;
}

export function PlaygroundPage() {
  const who = useWho();
  const [code, setCode] = useState(() => readDraft() || SQUARES);
  const [again, setAgain] = useState(readAgain);
  const [reuses, setReuses] = useState(false);
  const [session, setSession] = useState(again?.session ?? "");
  const [context, setContext] = useState("");
  const [run, setRun] = useState<Started | null>(null);
  const write = (text: string) => {
    setCode(text);
    keepDraft(text);
  };
  const start = useAction(async () => {
    const given = context.trim() ? parseContext(context) : {};
    setRun(
      await post(
        "/execute",
        {},
        {
          code,
          session: again && reuses ? again.session : session.trim() || null,
          context: given,
          background: true,
          resume: again && reuses ? again.id : null,
        },
      ),
    );
  });
  const isAllowed = hasScope(who, "execute");
  const isReady = isAllowed && Boolean(code.trim());
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLTextAreaElement>) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && isReady) void start.run();
  };
  return (
    <>
      <Header title="Playground" lead="Run a program as an agent would: the same sandbox, the same rules, the same record." />
      <form
        class="editor"
        onSubmit={(event) => {
          event.preventDefault();
          void start.run();
        }}
      >
        <p class="chips">
          <span class="quiet">Start with</span>
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
            onKeyDown={onKeyDown}
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
        {again && (
          <div class="callout">
            <p>
              This is the program of <a href={linkTo("executions", again.id)}>{shortenId(again.id)}</a>.{" "}
              <button
                type="button"
                class="chip"
                onClick={() => {
                  forgetAgain();
                  setAgain(null);
                }}
              >
                Forget that
              </button>
            </p>
            {again.isMine && (
              <label class="check">
                <input type="checkbox" checked={reuses} onChange={(event) => setReuses(event.currentTarget.checked)} /> Reuse its
                answers: calls that succeeded are not made again
              </label>
            )}
          </div>
        )}
        {!isAllowed && (
          <p class="callout">
            Running needs a token with the scope <code>execute</code>. <a href={linkTo("token")}>Use another token</a>
          </p>
        )}
        <Failure error={start.error} />
      </form>
      {run && <WatchedRun key={run.id} id={run.id} session={run.session} />}
    </>
  );
}

function parseContext(text: string) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`The context is not JSON: ${error instanceof Error ? error.message : error}`);
  }
}
