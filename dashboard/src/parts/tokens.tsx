// What the same work costs in tokens in three ways: with code, with search and calls, and with direct calls.
import { get } from "../api/client.ts";
import type { Tokens } from "../api/shapes.ts";
import { useLoad } from "../hooks/use-load.ts";
import { formatCount } from "../text/format.ts";
import { Empty } from "./empty.tsx";
import { Loaded } from "./loading.tsx";

/** Says what was saved in words; the number is the same in outcomes, statistics and metrics. */
export const describeSaved = (tokens: number) =>
  `${formatCount(Math.abs(tokens))} tokens ${tokens < 0 ? "more than" : "less than"} direct calls, each counted once`;

const formatDollars = (dollars: number) => `$${dollars.toFixed(4)}`;

const WAYS = [
  ["direct", "Direct calls", "every tool's definition in every request"],
  ["search", "Search, then call", "definitions of the tools that were used"],
  ["code", "Code (Gristmill)", "two tools, and what the code returned"],
] as const;

/** The tokens of one session or one execution. */
export function TokensOf({ of }: { of: { session: string } | { execution: string } }) {
  const stats = useLoad((signal) => get("/stats", of, signal), [JSON.stringify(of)]);
  return <Loaded of={stats}>{({ tokens }) => <TokensSection tokens={tokens} />}</Loaded>;
}

export const TokensSection = ({ tokens }: { tokens: Tokens }) => (
  <section aria-labelledby="tokens">
    <h2 id="tokens">Tokens</h2>
    {tokens.executions ? (
      <>
        <p>
          <strong>{describeSaved(tokens.tokens_saved)}</strong>
        </p>
        <p class="summary">{tokens.summary}</p>
        <Ways ways={tokens.savings.ways} costs={tokens.costs} />
        <p class="quiet small">{tokens.method}</p>
        <Advice advice={tokens.advice} />
      </>
    ) : (
      <Empty title="No work has been counted yet.">
        <p>Each execution is compared with the same calls made directly and made after a search.</p>
      </Empty>
    )}
  </section>
);

/** Shows both counts: a loop sends its context again with every request; with a perfect cache it pays for each token once. */
function Ways({ ways, costs }: { ways: Tokens["savings"]["ways"]; costs: Tokens["costs"] }) {
  const most = Math.max(...WAYS.map(([name]) => ways[name].resent), 1);
  return (
    <table class="ways">
      <caption class="unseen">Input tokens of the same work, three ways</caption>
      <thead>
        <tr>
          <th scope="col">Way</th>
          <th scope="col" class="wide">
            <span class="unseen">Share</span>
          </th>
          <th scope="col" class="right">
            With re-sending
          </th>
          <th scope="col" class="right">
            Each once
          </th>
          <th scope="col" class="right wide">
            Cost
          </th>
          <th scope="col" class="right wide">
            With caching
          </th>
        </tr>
      </thead>
      <tbody>
        {WAYS.map(([name, title, note]) => (
          <tr key={name}>
            <th scope="row">
              {title} <small>{note}</small>
            </th>
            <td class="lane wide">
              <span
                class={`bar ${name === "code" ? "accent" : "all"}`}
                style={{ width: `${(100 * ways[name].resent) / most}%` }}
              />
            </td>
            <td class="right">{formatCount(ways[name].resent)}</td>
            <td class="right quiet">{formatCount(ways[name].once)}</td>
            <td class="right wide">{formatDollars(costs.plain[name])}</td>
            <td class="right quiet wide">{formatDollars(costs.cached[name])}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const MOST_ADVICE = 5;

const Advice = ({ advice }: Pick<Tokens, "advice">) =>
  advice.length > 0 && (
    <ul class="notes" aria-label="Advice">
      {advice.slice(0, MOST_ADVICE).map((one) => (
        <li key={one.kind + one.subject}>{one.text}</li>
      ))}
    </ul>
  );
