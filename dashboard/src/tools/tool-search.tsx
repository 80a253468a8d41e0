// The search that agents use: its ranking, and the text that an agent reads.
import type { TargetedSubmitEvent } from "preact";
import { get } from "../api/client.ts";
import type { SearchAnswer } from "../api/shapes.ts";
import { linkTo, useFilters } from "../hooks/route.ts";
import { useLoad } from "../hooks/use-load.ts";
import { Empty } from "../parts/empty.tsx";
import { Choice, Field } from "../parts/fields.tsx";
import { Loaded } from "../parts/loading.tsx";
import { Plain } from "../parts/text-boxes.tsx";
import { splitKey } from "./tool-key.ts";

const LEVELS = { name_only: "names", with_description: "descriptions", full: "in full" };
type Level = keyof typeof LEVELS;
const LIMITS = ["3", "5", "10", "20"];
const DEFAULTS = { query: "", detail: "with_description", limit: "5" };

/** Loads the answer. The address may hold any text: the service refuses a level or a limit that it does not know. */
const loadAnswer = ({ query, detail, limit }: typeof DEFAULTS, signal: AbortSignal) =>
  get("/tools/search", { query, detail_level: detail as Level, limit: Number(limit), for_person: true }, signal);

export function ToolSearch() {
  const [filters, change] = useFilters(DEFAULTS);
  const found = useLoad(
    async (signal) => (filters.query ? loadAnswer(filters, signal) : null),
    [filters.query, filters.detail, filters.limit],
  );
  const onSubmit = (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const { query = "", ...given } = Object.fromEntries(new FormData(event.currentTarget)) as Record<string, string>;
    if (query.trim()) change({ ...given, query: query.trim() });
  };
  return (
    <section aria-labelledby="search">
      <h2 id="search">Search</h2>
      <form class="filters" role="search" onSubmit={onSubmit}>
        <Field grow label="What should a tool do?">
          <input type="search" name="query" required defaultValue={filters.query} placeholder="open invoices of a customer" />
        </Field>
        <Field label="Detail">
          <Choice
            name="detail"
            of={Object.keys(LEVELS)}
            words={LEVELS}
            value={filters.detail}
            onChange={(event) => change({ detail: event.currentTarget.value })}
          />
        </Field>
        <Field label="At most">
          <Choice
            name="limit"
            of={LIMITS}
            value={filters.limit}
            onChange={(event) => change({ limit: event.currentTarget.value })}
          />
        </Field>
        <button type="submit">Search</button>
      </form>
      <div aria-live="polite">
        <Loaded of={found}>{(answer) => (answer ? <Hits answer={answer} /> : <Explanation />)}</Loaded>
      </div>
    </section>
  );
}

const Explanation = () => (
  <p class="quiet">
    Search as an agent does with <code>search_tools</code>: you see the ranking, and the text that the agent gets.
  </p>
);

function Hits({ answer: { hits, text } }: { answer: SearchAnswer }) {
  if (!hits.length)
    return (
      <Empty title="No tool matches.">
        <p>Try other words, as an agent would.</p>
      </Empty>
    );
  const best = Math.max(...hits.map((hit) => hit.score), 1e-9);
  return (
    <>
      <ol class="hits">
        {hits.map((hit) => (
          <li key={hit.tool}>
            <p>
              <ToolLink of={hit.tool} /> <span class="score">{hit.score.toFixed(2)}</span>
            </p>
            <span class="lane">
              <span class="bar accent" style={{ width: `${Math.max(1, (100 * hit.score) / best)}%` }} />
            </span>
            <p class="quiet clamp">{hit.description}</p>
          </li>
        ))}
      </ol>
      <h3>What the agent reads</h3>
      <Plain text={text} label="Answer of the search" />
    </>
  );
}

/** A skill is found as a tool of the server `skills`. */
function ToolLink({ of }: { of: string }) {
  const [server, tool] = splitKey(of);
  return <a href={server === "skills" ? linkTo("skills", tool) : linkTo("tools", server, tool)}>{of}</a>;
}
