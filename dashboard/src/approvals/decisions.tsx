// Who may decide, and what was decided.
import type { Approval } from "../api/shapes.ts";
import { linkTo } from "../hooks/route.ts";
import { hasScope, useWho } from "../hooks/who.ts";
import { pluralize, shortenId } from "../text/format.ts";

/** Says which calls were approved, after a decision. */
export function describeDecision({ approved, execution, plan, standing }: Approval) {
  const asked = plan.calls.filter((call) => call.needs_approval).length;
  const decision = standing === "approved" ? `Approved: ${approved.length} of ${pluralize(asked, "call")}` : "Denied: all calls";
  return `${decision} of ${shortenId(execution)}.`;
}

/** Says which token is needed to decide, if the user's own is not enough. */
export function CannotDecide() {
  const who = useWho();
  if (hasScope(who, "approve")) return null;
  return (
    <p class="callout">
      You can look, but not decide: that needs a token with the scope <code>approve</code>, because the agent may run on this
      machine too.{" "}
      {who?.caller === "local" && (
        <>
          Run <code>gristmill dashboard</code> in a terminal: it opens these pages with you signed in.{" "}
        </>
      )}
      For another person make a token with{" "}
      <code>
        gristmill tokens create NAME{who?.tenant !== "local" && ` --tenant ${who?.tenant}`} --scope approve --scope read
      </code>{" "}
      and <a href={linkTo("token")}>use it here</a>.
    </p>
  );
}
