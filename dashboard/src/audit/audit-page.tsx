// The audit log: its filters, its records, and whether it is complete.
import type { TargetedEvent } from "preact";
import { useState } from "preact/hooks";
import { get } from "../api/client.ts";
import type { Verified } from "../api/shapes.ts";
import { linkTo, useFilters } from "../hooks/route.ts";
import { useAction } from "../hooks/use-action.ts";
import { hasScope, useWho } from "../hooks/who.ts";
import { Choice, Field } from "../parts/fields.tsx";
import { Failure } from "../parts/loading.tsx";
import { Header } from "../parts/page-header.tsx";
import { formatCount, timeZone } from "../text/format.ts";
import { describeVerified, WORDS } from "../text/words.ts";
import { Records } from "./records.tsx";

const KINDS = ["", "execution", "call", "search", "security", "approval", "rollout"];
const NO_FILTERS = { kind: "", tool: "", status: "", caller: "", session: "", since: "", until: "" };
export type AuditFilters = typeof NO_FILTERS;
const HINTS = [
  ["tool", "server.tool, whole"],
  ["status", "as rows show it"],
  ["caller", "its whole name"],
  ["session", "its whole name"],
] as const;

export function AuditPage() {
  const who = useWho();
  const [filters, change] = useFilters(NO_FILTERS);
  if (!hasScope(who, "read", "admin")) {
    return (
      <>
        <Header title="Audit" />
        <p class="callout">
          The record of the tenant needs a token with the scope <code>read</code>. <a href={linkTo("token")}>Use another token</a>
        </p>
      </>
    );
  }
  return (
    <>
      <Header
        title="Audit"
        lead={
          "Every execution, call, search, refusal and decision, the newest first. Each record is sealed to the one before. " +
          `Times are in the time zone ${timeZone}.`
        }
      />
      <Verify isOperator={who?.is_operator ?? false} />
      <Filters filters={filters} change={change} />
      <Records key={JSON.stringify(filters)} filters={filters} />
    </>
  );
}

interface FiltersProps {
  filters: AuditFilters;
  change: (fields: Partial<AuditFilters>) => void;
}

function Filters({ filters, change }: FiltersProps) {
  const onChange = (name: keyof AuditFilters) => (event: TargetedEvent<HTMLInputElement | HTMLSelectElement>) =>
    change({ [name]: event.currentTarget.value.trim() });
  return (
    <>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <Field label="Kind">
          <Choice of={KINDS} words={{ "": "any" }} value={filters.kind} onChange={onChange("kind")} />
        </Field>
        {HINTS.map(([name, hint]) => (
          <Field key={name} label={name.charAt(0).toUpperCase() + name.slice(1)} hint={hint}>
            <input value={filters[name]} placeholder="any" onChange={onChange(name)} />
          </Field>
        ))}
      </form>
      <form class="filters times" onSubmit={(event) => event.preventDefault()}>
        <Field label="Since">
          <input type="datetime-local" step="1" value={filters.since} onChange={onChange("since")} />
        </Field>
        <Field label="Until">
          <input type="datetime-local" step="1" value={filters.until} onChange={onChange("until")} />
        </Field>
        {Object.values(filters).some(Boolean) && (
          <button type="button" class="plain" onClick={() => change(NO_FILTERS)}>
            No filter
          </button>
        )}
      </form>
    </>
  );
}

function Verify({ isOperator }: { isOperator: boolean }) {
  const [found, setFound] = useState<Verified | null>(null);
  const verify = useAction(async () => setFound(await get("/audit/verify", {})));
  if (!isOperator)
    return (
      <p class="quiet">
        Only the operator of the whole service (<code>admin</code> of the tenant <code>local</code>) can verify the chain.
      </p>
    );
  return (
    <div class="verify">
      <button type="button" class="plain" aria-busy={verify.busy} onClick={() => verify.run()}>
        {verify.busy ? "Verifying …" : WORDS.verify}
      </button>
      <span role="status">
        {found &&
          (found.ok ? (
            <span class="good-text">{describeVerified(formatCount(found.records))}</span>
          ) : (
            <span class="bad-text">
              Broken at record {found.first_bad}: {found.reason}
            </span>
          ))}
      </span>
      <Failure error={verify.error} />
    </div>
  );
}
