// Search everywhere: Ctrl-K opens it on every page. It finds pages, tools, executions, plans, sessions and skills.
import type { TargetedKeyboardEvent } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { get } from "../api/client.ts";
import type { Who } from "../api/shapes.ts";
import { linkTo } from "../hooks/route.ts";
import { hasScope } from "../hooks/who.ts";
import { shortenId } from "../text/format.ts";
import { splitKey } from "../tools/tool-key.ts";
import { PAGES } from "./page-names.ts";

const PAUSE = 200; // milliseconds after the last letter
const EACH = 5; // hits of each kind

interface Hit {
  kind: string;
  name: string;
  note: string;
  href: string;
}

const findPages = (word: string): Hit[] =>
  PAGES.filter(([, title]) => title.toLowerCase().includes(word.toLowerCase())).map(([name, title]) => ({
    kind: "Page",
    name: title,
    note: "",
    href: name ? linkTo(name) : "#/",
  }));

/** Looks in every place that the user may see; a place that fails is left out. */
async function findHits(word: string, who: Who, signal: AbortSignal): Promise<Hit[]> {
  const sees = hasScope(who, "execute", "read", "admin");
  const fits = (...texts: (string | null | undefined)[]) =>
    texts.some((text) => text?.toLowerCase().includes(word.toLowerCase()));
  const looked = await Promise.allSettled<Hit[]>([
    get("/approvals", { limit: 100 }, signal).then((plans) =>
      plans
        .filter((plan) => fits(plan.id, plan.execution, plan.caller, ...plan.plan.calls.map((call) => call.tool)))
        .map((plan) => ({ kind: "Plan", name: plan.id, note: `asked by ${plan.caller}`, href: linkTo("approvals", plan.id) })),
    ),
    ...(sees
      ? [
          get("/tools/search", { query: word, limit: EACH, detail_level: "with_description", for_person: true }, signal).then(
            (found) =>
              found.hits.map((hit) => ({
                kind: "Tool",
                name: hit.tool,
                note: hit.description ?? "",
                href: linkTo("tools", ...splitKey(hit.tool)),
              })),
          ),
          get("/executions", { word, limit: EACH }, signal).then((found) =>
            found.executions.map((one) => ({
              kind: "Execution",
              name: shortenId(one.id),
              note: [one.title, one.reason ?? one.about].filter(Boolean).join(" · "),
              href: linkTo("executions", one.id),
            })),
          ),
          get("/sessions", { limit: 200 }, signal).then((found) =>
            found
              .filter((one) => fits(one.name, one.id))
              .map((one) => ({ kind: "Session", name: one.name, note: "", href: linkTo("sessions", one.name) })),
          ),
          get("/skills", {}, signal).then((found) =>
            found
              .filter((one) => fits(one.name))
              .map((one) => ({ kind: "Skill", name: one.name, note: one.level, href: linkTo("skills", one.name) })),
          ),
        ]
      : []),
  ]);
  return looked.flatMap((one) => (one.status === "fulfilled" ? one.value.slice(0, EACH) : []));
}

export function Palette({ who }: { who: Who | undefined }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [word, setWord] = useState("");
  const [found, setFound] = useState<{ word: string; hits: Hit[] }>({ word: "", hits: [] });
  const [place, setPlace] = useState(0);
  const wanted = word.trim();
  const isBusy = wanted !== "" && found.word !== wanted;
  // Hits of an earlier word are not shown below the new one: Enter would open what the reader did not mean.
  const hits = [...findPages(wanted), ...(isBusy ? [] : found.hits)];
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
      event.preventDefault();
      if (dialog.current?.open) dialog.current.close();
      else dialog.current?.showModal();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  useEffect(() => {
    if (!wanted || !who) {
      setFound({ word: wanted, hits: [] });
      return undefined;
    }
    const stop = new AbortController();
    const timer = setTimeout(() => {
      void findHits(wanted, who, stop.signal).then((hits) => {
        if (!stop.signal.aborted) setFound({ word: wanted, hits });
      });
    }, PAUSE);
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [wanted, who]);
  const open = (hit: Hit | undefined) => {
    if (!hit) return;
    dialog.current?.close();
    setWord("");
    location.hash = hit.href;
  };
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLInputElement>) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && hits.length) {
      event.preventDefault();
      setPlace((place + step + hits.length) % hits.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      open(hits[place]);
    }
  };
  return (
    <>
      <button type="button" class="plain find" onClick={() => dialog.current?.showModal()}>
        Find <kbd>Ctrl K</kbd>
      </button>
      <dialog class="view palette" ref={dialog} aria-label="Search everywhere">
        <input
          role="combobox"
          aria-label="Search everywhere"
          aria-expanded={hits.length > 0}
          aria-controls={id}
          aria-activedescendant={hits[place] ? `${id}-${place}` : undefined}
          placeholder="A page, a tool, an id, any word of a program …"
          maxLength={200}
          autocomplete="off"
          spellcheck={false}
          value={word}
          onInput={(event) => {
            setWord(event.currentTarget.value);
            setPlace(0);
          }}
          onKeyDown={onKeyDown}
        />
        <div id={id} class="hits-list" role="listbox" aria-label="Found" aria-busy={isBusy}>
          {hits.map((hit, at) => (
            <div
              key={hit.href}
              id={`${id}-${at}`}
              role="option"
              tabIndex={-1}
              aria-selected={at === place}
              onClick={() => open(hit)}
              onKeyDown={(event) => event.key === "Enter" && open(hit)}
            >
              <small>{hit.kind}</small> <span class="named">{hit.name}</span> <small class="note">{hit.note}</small>
            </div>
          ))}
        </div>
        <p class="quiet small" role="status">
          {isBusy ? "Searching …" : hits.length ? "" : "Nothing found."}
        </p>
      </dialog>
    </>
  );
}
