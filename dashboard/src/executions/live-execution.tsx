// An execution that runs: its output and calls as they happen.
import { useEffect } from "preact/hooks";
import { remove } from "../api/client.ts";
import { useConnection } from "../api/connection.ts";
import type { Execution } from "../api/shapes.ts";
import { useNow } from "../hooks/time.ts";
import { useAction } from "../hooks/use-action.ts";
import { hasScope, ownsOrAdmins, useWho } from "../hooks/who.ts";
import { ConfirmButton } from "../parts/confirm-button.tsx";
import { Facts } from "../parts/facts.tsx";
import { Failure } from "../parts/loading.tsx";
import { Header } from "../parts/page-header.tsx";
import { SessionName } from "../parts/session-name.tsx";
import { Status, Time } from "../parts/status.tsx";
import { Code } from "../parts/text-boxes.tsx";
import { focusMain } from "../shell/focus-main.ts";
import { formatMs } from "../text/format.ts";
import { Output } from "./output.tsx";
import { fromRecords, Timeline } from "./timeline.tsx";
import { titleOf } from "./title.ts";
import { type Run, useRun } from "./use-run.ts";

interface LiveExecutionProps {
  execution: Execution;
  /** Loads the execution again. */
  again: () => void;
  /** Whether another process runs it. */
  isFar: boolean;
  /** Whether this process may have its stream. */
  hasStream: boolean;
  /** Called when this process has no stream of it. */
  onNoStream: () => void;
}

export function LiveExecution({ execution, again, isFar, hasStream, onNoStream }: LiveExecutionProps) {
  const run = useRun(hasStream ? execution.id : null);
  const isGone = run.error?.status === 404;
  const now = useNow(!run.done, 500);
  const who = useWho();
  const { lost } = useConnection();
  const cancel = useAction(async () => {
    await remove("/executions/{id}", { id: execution.id });
    focusMain({ preventScroll: true }); // the button disappears together with the execution
  });
  useEffect(() => {
    if (run.done) again(); // the record says more than the stream
    if (isGone) onNoStream();
  }, [run.done, isGone]);
  const time = formatMs(Math.max(0, now - (execution.time ?? now)) * 1000);
  return (
    <>
      <Header
        title={titleOf(execution.id)}
        lead={lost ? `It had run for ${time} when the connection was lost` : `Running for ${time}`}
      >
        {!isFar && hasScope(who, "execute") && ownsOrAdmins(who, execution.caller) && (
          <ConfirmButton label="Cancel" ask="Cancel it" onConfirm={cancel.run} disabled={run.done || lost !== null} />
        )}
      </Header>
      <Failure error={cancel.error || (!isGone && run.error)} />
      {isFar && (
        <p class="callout">
          Another process of the service runs it. Its code and output are shown when it has ended. Only that process can cancel
          it.
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
      {!isFar && <CodeAndOutput execution={execution} run={run} />}
      <section>
        <h2>Tool calls</h2>
        {isFar ? (
          <Timeline calls={fromRecords(execution.calls || [])} now={now} none="No call has ended so far." />
        ) : (
          <Timeline calls={run.calls} now={now} isLive none="It has called no tools so far." />
        )}
      </section>
    </>
  );
}

const CodeAndOutput = ({ execution, run }: { execution: Execution; run: Run }) => (
  <>
    {execution.code ? (
      <section>
        <h2>Code</h2>
        <Code text={execution.code} />
      </section>
    ) : (
      <p class="quiet">
        Its code is shown when it has ended: it is masked when it is recorded. Until then only its caller sees it.
      </p>
    )}
    <section>
      <h2>Output</h2>
      <Output text={run.output} isRunning={!run.done} cut={run.cut} dropped={run.dropped} />
    </section>
  </>
);
