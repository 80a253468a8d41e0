// The address: which page, and its filters. `#/executions?status=failed` can be copied, reloaded and bookmarked.
import { useEffect, useState } from "preact/hooks";

const splitHash = () => location.hash.replace(/^#\/?/, "").split("?");
const readWords = () => (splitHash()[0] ?? "").split("/").filter(Boolean).map(decode);

function decode(text: string) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function useHash<T>(read: () => T) {
  const [found, setFound] = useState(read);
  useEffect(() => {
    const onChange = () => setFound(read());
    addEventListener("hashchange", onChange);
    return () => removeEventListener("hashchange", onChange);
  }, []);
  return [found, setFound] as const;
}

/** The words after `#/`; the component is drawn again when they change. */
export const useRoute = () => useHash(readWords)[0];

export const linkTo = (...words: string[]) => `#/${words.map((word) => encodeURIComponent(word)).join("/")}`;
export const withFilters = (link: string, filters: Record<string, string>) =>
  Object.keys(filters).length ? `${link}?${new URLSearchParams(filters)}` : link;

/** The filters in the address, and a function that changes some of them. `defaults` names every filter and its default. */
export function useFilters<F extends Record<string, string>>(defaults: F) {
  const read = () => {
    const given = new URLSearchParams(splitHash().slice(1).join("?"));
    return Object.fromEntries(Object.entries(defaults).map(([name, value]) => [name, given.get(name) ?? value])) as F;
  };
  const [filters, setFilters] = useHash(read);
  const change = (fields: Partial<F>) => {
    const next = { ...read(), ...fields };
    const set = Object.entries(next).filter(([name, value]) => value !== defaults[name]);
    // The entry in the browser's history is replaced: going back leads to the page before, not through every filter.
    history.replaceState(null, "", withFilters(`#/${splitHash()[0]}`, Object.fromEntries(set)));
    setFilters(next);
  };
  return [filters, change] as const;
}
