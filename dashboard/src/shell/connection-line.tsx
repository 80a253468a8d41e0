// A line above every page while the service does not answer.
import { askNow, useConnection } from "../api/connection.ts";
import { formatExactTime } from "../text/format.ts";

export function ConnectionLine() {
  const { lost } = useConnection();
  return (
    <div role="status" class={lost ? "lost" : "unseen"}>
      {lost && (
        <>
          <p>
            <strong>The connection to the service is lost; trying again.</strong> You see the state of{" "}
            {formatExactTime(lost / 1000)}.
          </p>
          <button type="button" class="plain" onClick={askNow}>
            Try now
          </button>
        </>
      )}
    </div>
  );
}
