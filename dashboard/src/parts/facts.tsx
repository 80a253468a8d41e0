// A list of names with their values.
import type { ComponentChildren } from "preact";

export type NamedFacts = Record<string, ComponentChildren>;

/** Facts without a value are left out. */
export const Facts = ({ of }: { of: NamedFacts }) => (
  <dl class="facts">
    {Object.entries(of)
      .filter(([, value]) => value !== null && value !== undefined && value !== "")
      .map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
  </dl>
);
