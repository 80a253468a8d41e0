// Tools whose definition is suspicious, or has changed since it was accepted.
import { get } from "../api/client.ts";
import type { Server, Tool } from "../api/shapes.ts";
import { linkTo } from "../hooks/route.ts";
import { useLoad } from "../hooks/use-load.ts";
import { hasScope, useWho } from "../hooks/who.ts";
import { pluralize } from "../text/format.ts";

const SAMPLE = 1000;
const MOST = 20; // tools that are loaded
const WARNING = "# warning: ";

/** The service's warnings about a tool, which are the first lines of the tool's source. */
export function listWarnings(tool: Tool) {
  const lines = (tool.text || "").split("\n");
  const end = lines.findIndex((line) => !line.startsWith(WARNING));
  return lines.slice(0, Math.max(end, 0)).map((line) => line.slice(WARNING.length));
}

/** Loads the suspicious tools: the audit names tools that were suspicious once, and each tool says whether it still is. */
async function loadSuspicious(server: string, signal: AbortSignal): Promise<Tool[]> {
  const { records } = await get("/audit", { kind: "security", limit: SAMPLE }, signal);
  const found = records.flatMap(({ tool, rule }) =>
    tool?.startsWith(`${server}.`) && rule?.startsWith("definition.") ? [tool.slice(server.length + 1)] : [],
  );
  const names = [...new Set(found)].slice(0, MOST);
  const load = (name: string) => get("/tools/{server}/{tool}", { server, tool: name }, signal).catch(() => null);
  const tools = await Promise.all(names.map(load));
  return tools.filter((tool) => tool !== null).filter((tool) => listWarnings(tool).length);
}

export function SuspiciousTools({ server }: { server: Server }) {
  const who = useWho();
  const count = server.flagged + server.changed;
  const mayLoad = count > 0 && hasScope(who, "read", "admin");
  const found = useLoad(async (signal) => (mayLoad ? loadSuspicious(server.name, signal) : []), [server.name, count]);
  if (!count) return null;
  const named = found.value || [];
  return (
    <div class="failure">
      <p>{describeCounts(server)}.</p>
      <ul class="suspects">
        {named.map((tool) => (
          <li key={tool.key}>
            <a href={linkTo("tools", tool.server, tool.name)}>{tool.name}</a>: {listWarnings(tool).join("; ")}
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

const describeCounts = ({ flagged, changed }: Server) =>
  [
    flagged && `${pluralize(flagged, "definition")} ${flagged === 1 ? "is" : "are"} suspicious`,
    changed && `${pluralize(changed, "definition")} changed since accepted`,
  ]
    .filter(Boolean)
    .join(", ");
