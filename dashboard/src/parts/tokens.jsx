// What the same work costs in tokens three ways: with code, by search and calls, by direct calls.
import { get, query } from "../api.js";
import { useLoad } from "../state.js";
import { count } from "../words.js";
import { Empty, Loaded } from "./basics.jsx";

const WAYS = [
  ["direct", "Direct calls", "every tool's definition in every request"],
  ["search", "Search, then call", "definitions of the tools that were used"],
  ["code", "Code (Gristmill)", "two tools, and what the code returned"],
];

/** What one session or one execution cost, against both other ways. */
export function Spent({ of }) {
  const stats = useLoad((signal) => get(`stats${query(of)}`, signal), [JSON.stringify(of)]);
  return <Loaded of={stats}>{({ tokens }) => <Tokens tokens={tokens} />}</Loaded>;
}

export function Tokens({ tokens }) {
  return (
    <section aria-labelledby="tokens">
      <h2 id="tokens">Tokens</h2>
      {tokens.executions ? (
        <>
          <p class="summary">{tokens.summary}</p>
          <Ways ways={tokens.savings.ways} />
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

/** Both counts side by side: a loop sends its context again with every request, and one with a perfect cache pays once. */
function Ways({ ways }) {
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
            <td class="right">{count(ways[name].resent)}</td>
            <td class="right quiet">{count(ways[name].once)}</td>
          </tr>
        ))}
      </tbody>
    </table>
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
