// The address: which page, and what was asked of it. `#/executions?status=failed` can be copied, reloaded and come back to.
import { useEffect, useState } from "preact/hooks";

const parts = () => location.hash.replace(/^#\/?/, "").split("?");
const words = () => parts()[0].split("/").filter(Boolean).map(decode);

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function useHash(read) {
  const [found, setFound] = useState(read);
  useEffect(() => {
    const changed = () => setFound(read());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return [found, setFound];
}

/** The words after `#/`, as a list that changes with the address. */
export const useRoute = () => useHash(words)[0];

export const to = (...names) => `#/${names.map((name) => encodeURIComponent(name)).join("/")}`;
export const withAsked = (place, asked) => (Object.keys(asked).length ? `${place}?${new URLSearchParams(asked)}` : place);

/** What is asked of a page, by name; `none` names everything that can be, and what it is when nobody says. */
export function useAsked(none) {
  const read = () => {
    const given = new URLSearchParams(parts().slice(1).join("?"));
    return Object.fromEntries(Object.entries(none).map(([name, value]) => [name, given.get(name) ?? value]));
  };
  const [asked, setAsked] = useHash(read);
  const set = (fields) => {
    const next = { ...read(), ...fields };
    const said = Object.entries(next).filter(([name, value]) => value !== none[name]);
    // In place: going back leads to the page before, not through every filter.
    history.replaceState(null, "", withAsked(`#/${parts()[0]}`, Object.fromEntries(said)));
    setAsked(next);
  };
  return [asked, set];
}
