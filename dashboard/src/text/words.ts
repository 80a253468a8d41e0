// The words of the pages for what the service calls otherwise. `tests/unit/serve/dashboard/test_dashboard_words.py` checks them.

/** Statuses that would not be understood by their name alone. Others are shown by their name, codes as they are. */
export const STATUS_WORDS: Readonly<Record<string, string>> = {
  pending: "waits for a decision",
  planned: "planned, not sent",
  "rule made": "rule made",
  "rule revoked": "rule revoked",
};

/** Words of buttons and headings that stand in several places, or that people look for. */
export const WORDS = {
  preview: "Preview (nothing has been sent)",
  signIn: "Sign in",
  signOut: "Sign out",
  verify: "Verify the record",
} as const;

/** What the check of the audit found. */
export const describeVerified = (records: string) => `Verified: ${records} records, none missing or changed.`;

const SPLIT_RULE = /^(.+?) "(.*?)"(.*)$/s;
const splitRule = (rule: string) => SPLIT_RULE.exec(rule)?.slice(1) ?? [rule];

/** Why a call needs approval, by the rule that asks. */
export function describeRule(rule: string): string {
  const [kind = "", pattern = "", conditions = ""] = splitRule(rule);
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

/** Why a call on record was made, planned or refused, by the rule that decided. */
export function describeDecided(rule: string, decision: string | undefined): string {
  const standing = /, always allowed by (.+) \((ar_\w+)\)$/.exec(rule);
  if (standing) return `always allowed by ${standing[1]} (rule ${standing[2]})`;
  const approval = /, approval (ap_\w+)$/.exec(rule) ?? /^approval (ap_\w+)$/.exec(rule);
  if (approval) return `decided by a person (${approval[1]})`;
  if (decision === "ask") return `needs approval: ${describeRule(rule)}`;
  const [kind = "", pattern = "", conditions = ""] = splitRule(rule);
  if (rule === "policy.default: Gristmill's own") return "allowed: it is Gristmill's own";
  if (kind === "policy.default" && pattern === "annotations") return "allowed: this tool is marked read-only";
  if (kind === "policy.default") return `${decision === "deny" ? "denied" : "allowed"}: no rule of the policy names it`;
  if (/^policy\.(rules )?allow$/.test(kind)) return `allowed: the policy allows ${pattern}${conditions}`;
  if (/^policy\.(rules )?deny$/.test(kind)) return `denied: the policy denies ${pattern}${conditions}`;
  return `decided by ${rule}`;
}
