// The choice to allow tools from now on. The rules are shown before they are written.
import type { Approval } from "../api/shapes.ts";
import { Choice, Field } from "../parts/fields.tsx";

export type Always = "" | "session" | "caller";

type Offer = NonNullable<Approval["details"]>["offered_rules"][number];

interface AlwaysChoiceProps {
  offers: Offer[];
  /** The tools of the calls that are ticked. */
  tools: ReadonlySet<string>;
  value: Always;
  onChange: (value: Always) => void;
}

const WORDS: Record<Always, string> = { "": "ask again", session: "allow in this session", caller: "allow for this caller" };

export function AlwaysChoice({ offers, tools, value, onChange }: AlwaysChoiceProps) {
  const scopes = (["session", "caller"] as const).filter((scope) => offers.some((offer) => offer.scope === scope));
  if (!scopes.length) return null;
  const rules = offers.filter((offer) => offer.scope === value && tools.has(offer.tool));
  return (
    <details class="always" open={value !== ""}>
      <summary>Later calls of these tools</summary>
      <Field label="From now on">
        <Choice
          of={["", ...scopes]}
          words={WORDS}
          value={value}
          onChange={(event) => onChange(event.currentTarget.value as Always)}
        />
      </Field>
      {rules.length > 0 && (
        <>
          <p>These rules are written when you approve; you can revoke them on the page of approvals:</p>
          <ul class="notes">
            {rules.map((rule) => (
              <li key={rule.tool}>{rule.text}</li>
            ))}
          </ul>
        </>
      )}
    </details>
  );
}
