// The page of one tool: its description, its code and its schemas.
import { get } from "../api/client.ts";
import type { Tool } from "../api/shapes.ts";
import { linkTo } from "../hooks/route.ts";
import { useLoad } from "../hooks/use-load.ts";
import { Facts } from "../parts/facts.tsx";
import { Loaded } from "../parts/loading.tsx";
import { Crumbs, Header } from "../parts/page-header.tsx";
import { Code, Json } from "../parts/text-boxes.tsx";
import { formatCount } from "../text/format.ts";
import { listWarnings } from "./suspicious-tools.tsx";

export function ToolPage({ server, name }: { server: string; name: string }) {
  const tool = useLoad((signal) => get("/tools/{server}/{tool}", { server, tool: name }, signal), [server, name]);
  return (
    <>
      <Crumbs>
        <a href={linkTo("tools")}>Tools</a> / <a href={linkTo("tools", server)}>{server}</a>
      </Crumbs>
      <Header title={name} tab={`Tool ${server}.${name}`} />
      <Loaded of={tool}>{(found) => <Contents tool={found} />}</Loaded>
    </>
  );
}

const Contents = ({ tool }: { tool: Tool }) => (
  <>
    {listWarnings(tool).length > 0 && (
      <ul class="failure" aria-label="Warnings">
        {listWarnings(tool).map((warning) => (
          <li key={warning}>{warning}</li>
        ))}
      </ul>
    )}
    <p class="prose">{tool.description || "It has no description."}</p>
    <Facts
      of={{ Key: <code>{tool.key}</code>, Title: tool.title, Tokens: formatCount(tool.tokens), ...listHints(tool.annotations) }}
    />
    {tool.text && (
      <section>
        <h2>As code sees it</h2>
        <Code text={tool.text} label="Source" />
      </section>
    )}
    <section>
      <h2>Input</h2>
      <Json value={tool.input_schema} label="Input schema" />
    </section>
    {tool.output_schema && (
      <section>
        <h2>Output</h2>
        <Json value={tool.output_schema} label="Output schema" />
      </section>
    )}
  </>
);

/** What the server claims about the tool, as texts. */
const listHints = (annotations: Tool["annotations"]) =>
  Object.fromEntries(
    Object.entries(annotations)
      .filter(([, value]) => typeof value !== "object")
      .map(([name, value]) => [name, String(value)]),
  );
