// A line over every page while the service does not answer: what is below is as it was.
import { askNow, useLink } from "../link.js";
import { exactly } from "../words.js";

export function Connection() {
  const { lost } = useLink();
  return (
    <div role="status" class={lost ? "lost" : "unseen"}>
      {lost && (
        <>
          <p>
            <strong>The connection to the service is lost; trying again.</strong> What you see is as it was at{" "}
            {exactly(lost / 1000)}.
          </p>
          <button type="button" class="plain" onClick={askNow}>
            Try now
          </button>
        </>
      )}
    </div>
  );
}
