// Tools whose definition is suspicious, or is not the one that was accepted: which, and why.
import { get, path } from "../api.js";
import { to } from "../route.js";
import { may, useLoad, useWho } from "../state.js";
import { many } from "../words.js";

const SAMPLE = 1000;
const MOST = 20; // tools that are looked at

/** What the service warns of a tool: it says so at the head of the tool's source. */
export function warnings(tool) {
  const lines = (tool.text || "").split("\n");
  const end = lines.findIndex((line) => !line.startsWith("# warning: "));
  return lines.slice(0, Math.max(end, 0)).map((line) => line.slice("# warning: ".length));
}

/** The record names tools that were found out; whether that still holds is asked of each. */
async function suspects(server, signal) {
  const { records } = await get(`audit?kind=security&limit=${SAMPLE}`, signal);
  const isOf = ({ tool, rule }) => tool?.startsWith(`${server}.`) && rule?.startsWith("definition.");
  const names = [...new Set(records.filter(isOf).map((record) => record.tool.slice(server.length + 1)))].slice(0, MOST);
  const tools = await Promise.all(names.map((name) => get(`tools/${path(server, name)}`, signal).catch(() => null)));
  return tools.filter((tool) => tool && warnings(tool).length);
}

export function Suspects({ server }) {
  const who = useWho();
  const count = server.flagged + server.changed;
  const asks = count > 0 && may(who, "read", "admin");
  const found = useLoad((signal) => (asks ? suspects(server.name, signal) : Promise.resolve([])), [server.name, count]);
  if (!count) return null;
  const told = [
    server.flagged && `${many(server.flagged, "definition")} ${server.flagged === 1 ? "is" : "are"} suspicious`,
    server.changed && `${many(server.changed, "definition")} changed since accepted`,
  ].filter(Boolean);
  const named = found.value || [];
  return (
    <div class="failure">
      <p>{told.join(", ")}.</p>
      <ul class="suspects">
        {named.map((tool) => (
          <li key={tool.key}>
            <a href={to("tools", tool.server, tool.name)}>{tool.name}</a>: {warnings(tool).join("; ")}
          </li>
        ))}
      </ul>
      {!found.loading && named.length < count && (
        <p>
          <code>gristmill tools {server.name}</code> names {named.length ? "the others" : "them"}.
        </p>
      )}
    </div>
  );
}
