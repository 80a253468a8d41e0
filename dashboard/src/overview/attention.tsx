// What needs a person: plans that wait, errors by their type, servers that are down.
import { get } from "../api/client.ts";
import type { Execution } from "../api/shapes.ts";
import { linkTo, withFilters } from "../hooks/route.ts";
import { useNow } from "../hooks/time.ts";
import { useLoad } from "../hooks/use-load.ts";
import { hasScope, useWho } from "../hooks/who.ts";
import { formatCount, formatTimeLeft, pluralize } from "../text/format.ts";

const MOST = 4; // lines about errors, and about servers
const EVERY = 10_000;

interface ErrorType {
  /** What its executions have in common: the name of the error, or the status. */
  name: string;
  status: string;
  count: number;
  /** A word that finds its executions; empty if the status says all. */
  word: string;
}

const NO_ERROR = new Set(["ok", "running", "awaiting_approval", "cancelled"]);

/** The errors among executions by their type, the most frequent first. */
export function groupErrors(rows: Pick<Execution, "status" | "reason">[]): ErrorType[] {
  const found = new Map<string, ErrorType>();
  for (const { status, reason } of rows) {
    if (NO_ERROR.has(status)) continue;
    const type = /^(\w+(?:Error|Exception|Exceeded|Refused|Interrupt)?)(?::|$)/.exec(reason ?? "")?.[1] ?? "";
    const key = `${status} ${type}`;
    const group = found.get(key) ?? { name: type || status.replaceAll("_", " "), status, count: 0, word: type };
    group.count += 1;
    found.set(key, group);
  }
  return [...found.values()].sort((one, other) => other.count - one.count);
}

export function Attention({ rows, since }: { rows: Execution[]; since: number }) {
  const who = useWho();
  const sees = hasScope(who, "execute", "read", "admin");
  const plans = useLoad((signal) => get("/approvals", { limit: 100 }, signal), [], { every: EVERY });
  const servers = useLoad(async (signal) => (sees ? get("/tools", {}, signal) : []), [], { every: EVERY });
  const now = useNow(Boolean(plans.value?.length), 5000);
  const errors = groupErrors(rows);
  const down = (servers.value ?? []).filter((row) => row.state === "failed");
  const first = Math.min(...(plans.value ?? []).map((plan) => plan.expires));
  const waiting = plans.value?.length ?? 0;
  if (!waiting && !errors.length && !down.length) return null;
  return (
    <section class="attention" aria-labelledby="attention">
      <h2 id="attention">Needs attention</h2>
      <ul>
        {waiting > 0 && (
          <li>
            <a href={linkTo("approvals")}>
              {pluralize(waiting, "plan")} {waiting === 1 ? "waits" : "wait"} for a decision
            </a>{" "}
            <span class="quiet">
              {waiting > 1 && "the first has "}
              {formatTimeLeft(first - now)}
            </span>
          </li>
        )}
        {down.slice(0, MOST).map((row) => (
          <li key={row.name}>
            <a href={linkTo("tools", row.name)}>The server {row.name} is down</a> <span class="quiet clamp">{row.error}</span>
          </li>
        ))}
        {down.length > MOST && (
          <li>
            <a href={linkTo("tools")}>{formatCount(down.length - MOST)} more servers are down</a>
          </li>
        )}
        {errors.slice(0, MOST).map((error) => (
          <li key={error.status + error.name}>
            <a href={linkToErrors(error, since)}>
              {pluralize(error.count, "execution")}: {error.name}
            </a>{" "}
            {error.word && <span class="quiet">{error.status.replaceAll("_", " ")}</span>}
          </li>
        ))}
        {errors.length > MOST && (
          <li>
            <a href={withFilters(linkTo("executions"), { since: String(since) })}>
              {formatCount(errors.length - MOST)} more types of errors
            </a>
          </li>
        )}
      </ul>
    </section>
  );
}

const linkToErrors = ({ status, word }: ErrorType, since: number) =>
  withFilters(linkTo("executions"), { status, ...(word ? { word } : {}), since: String(since) });
