// What the same work costs in tokens three ways: with code, by search and calls, by direct calls.
import { count } from "../words.js";
import { Empty } from "./basics.jsx";

const WAYS = [
  ["direct", "Direct calls", "every tool's definition in every request"],
  ["search", "Search, then call", "definitions of the tools that were used"],
  ["code", "Code (Gristmill)", "two tools, and what the code returned"],
];

export function Tokens({ tokens }) {
  const { ways } = tokens.savings;
  const most = Math.max(...WAYS.map(([name]) => ways[name].resent), 1);
  return (
    <section aria-labelledby="tokens">
      <h2 id="tokens">Tokens</h2>
      {tokens.executions ? (
        <>
          <p class="summary">{tokens.summary}</p>
          <table class="ways">
            <caption class="unseen">Input tokens of the same work, three ways</caption>
            <thead class="unseen">
              <tr>
                <th scope="col">Way</th>
                <th scope="col">Share</th>
                <th scope="col">Tokens</th>
              </tr>
            </thead>
            <tbody>
              {WAYS.map(([name, title, note]) => (
                <tr key={name}>
                  <th scope="row">
                    {title} <small>{note}</small>
                  </th>
                  <td class="lane">
                    <span
                      class={`bar ${name === "code" ? "accent" : "all"}`}
                      style={{ width: `${(100 * ways[name].resent) / most}%` }}
                    />
                  </td>
                  <td class="right">{count(ways[name].resent)}</td>
                </tr>
              ))}
            </tbody>
          </table>
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
}

const Advice = ({ advice }) =>
  advice.length > 0 && (
    <ul class="notes" aria-label="Advice">
      {advice.slice(0, 5).map((one) => (
        <li key={one.kind + one.subject}>{one.text}</li>
      ))}
    </ul>
  );
