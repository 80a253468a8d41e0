// The page of one execution: its events while it runs, and its record afterwards.
import { useState } from "preact/hooks";
import { get } from "../api/client.ts";
import type { Execution } from "../api/shapes.ts";
import { linkTo } from "../hooks/route.ts";
import { useLoad } from "../hooks/use-load.ts";
import { Failure, Loaded } from "../parts/loading.tsx";
import { Crumbs, Header } from "../parts/page-header.tsx";
import { EndedExecution } from "./ended-execution.tsx";
import { LiveExecution } from "./live-execution.tsx";
import { titleOf } from "./title.ts";

const EVERY = 3000; // milliseconds between two loads of an execution that has no stream here

/** Whether another process over the same store runs it: then it has a record here, but no stream. */
const isElsewhere = (execution: Execution | undefined) => execution?.status === "running" && typeof execution.seq === "number";

export function ExecutionPage({ id }: { id: string }) {
  const [isFar, setFar] = useState(false);
  const found = useLoad((signal) => get("/executions/{id}", { id }, signal), [id], { every: isFar ? EVERY : 0 });
  const execution = found.error?.status === 404 ? undefined : found.value;
  const isRunning = execution?.status === "running";
  if (isElsewhere(execution) && !isFar) setFar(true);
  if (found.value && !isRunning && isFar) setFar(false); // it has ended, or it is not known any more
  return (
    <>
      <Crumbs>
        <a href={linkTo("executions")}>Executions</a>
      </Crumbs>
      {execution && <Failure error={found.error} again={found.again} />}
      {isRunning && (
        <LiveExecution
          execution={execution}
          again={found.again}
          isFar={isFar}
          hasStream={!isElsewhere(execution)}
          onNoStream={() => setFar(true)}
        />
      )}
      {execution && !isRunning && <EndedExecution execution={execution} />}
      {!execution && (
        <>
          <Header title={titleOf(id)} />
          {found.value && <p class="callout">It was running when the service ended, and nothing of it was on record then.</p>}
          <Loaded of={{ ...found, value: undefined }}>{() => null}</Loaded>
        </>
      )}
    </>
  );
}
