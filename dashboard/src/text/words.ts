// The words of the pages for what the service calls otherwise. `tests/unit/serve/dashboard/test_dashboard_words.py` checks them.

/** Why a call needs approval, by the rule that asks. */
export function describeRule(rule: string): string {
  const [kind = "", pattern = "", conditions = ""] = /^(.+?) "(.*?)"(.*)$/s.exec(rule)?.slice(1) ?? [rule];
  switch (kind) {
    case "policy.default":
      return pattern === "annotations" ? "this tool is not marked read-only" : "no rule of the policy allows it";
    case "policy.ask":
      return `the policy asks about ${pattern}`;
    case "policy.rules ask":
      return `a rule of the policy asks about ${pattern}${conditions}`;
    case "policy.changed_definitions":
      return "the definition of this tool has changed since it was accepted";
    default:
      return `the rule ${rule} asks`;
  }
}
