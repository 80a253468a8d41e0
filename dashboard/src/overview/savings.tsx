// What Gristmill saved in the chosen time, in money and in tokens: the first number of the first page.
import type { Tokens } from "../api/shapes.ts";
import { formatCompact, formatCount } from "../text/format.ts";

const dollars = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD", maximumSignificantDigits: 3 });

export function Savings({ tokens, range }: { tokens: Tokens; range: string }) {
  if (!tokens.executions) return null;
  const { direct, code } = tokens.costs.plain;
  const saved = direct - code;
  const [least, most] = [tokens.savings.ways.code.resent, tokens.savings.ways.direct.resent];
  return (
    <section class="savings" aria-labelledby="savings">
      <h2 id="savings" class="headline">
        {saved < 0 ? `${dollars.format(-saved)} more` : `${dollars.format(saved)} saved`}
        <small class="quiet"> in {range}, against calling the same tools directly</small>
      </h2>
      <p class="quiet">
        {formatCount(Math.abs(most - least))} input tokens {most < least ? "more" : "less"}: {formatCompact(least)} instead of{" "}
        {formatCompact(most)}, with re-sending and without caching.
      </p>
    </section>
  );
}
