// The few hooks that pages share: where we are, what was loaded, who we are.
import { createContext } from "preact";
import { useCallback, useContext, useEffect, useRef, useState } from "preact/hooks";

export const Who = createContext(null);
export const useWho = () => useContext(Who);
export const may = (who, ...scopes) => Boolean(who) && scopes.some((scope) => who.scopes.includes(scope));

const parts = () => location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decode);

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The words after `#/`, as a list that changes with the address. */
export function useRoute() {
  const [route, setRoute] = useState(parts);
  useEffect(() => {
    const changed = () => setRoute(parts());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}

export const to = (...words) => `#/${words.map((word) => encodeURIComponent(word)).join("/")}`;

/** Load something; `every` loads it again, as long as anybody looks at the tab; so does another `round`. */
export function useLoad(load, wants, { every = 0, round: asked = 0 } = {}) {
  const [state, setState] = useState({ value: undefined, error: null, loading: true });
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => setState({ value: undefined, error: null, loading: true }), wants);
  useEffect(() => {
    const stop = new AbortController();
    const once = () =>
      latest.current(stop.signal).then(
        (value) => stop.signal.aborted || setState({ value, error: null, loading: false }),
        (error) => stop.signal.aborted || setState((old) => ({ ...old, error, loading: false })),
      );
    once();
    const timer = every && setInterval(() => document.hidden || once(), every);
    return () => {
      stop.abort();
      clearInterval(timer);
    };
  }, [...wants, round, asked, every]);
  return { ...state, again: useCallback(() => setRound((count) => count + 1), []) };
}

/** Told to the window when a plan was decided, so that what counts them counts again. */
export const DECIDED = "gristmill:decided";

const CALM = 4000;

/** Act when `value` changes: soon after the first change, and then every few seconds at most, however often it changes. */
export function useCalmly(value, act) {
  const state = useRef({ timer: null, last: 0 }).current;
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    if (value === null || state.timer !== null) return;
    const wait = Math.max(300, state.last + CALM - Date.now());
    state.timer = setTimeout(() => {
      Object.assign(state, { timer: null, last: Date.now() });
      latest.current();
    }, wait);
  }, [value]);
  useEffect(() => () => clearTimeout(state.timer), []);
}

/** A clock that ticks while it is needed. */
export function useNow(active, every = 1000) {
  const [now, setNow] = useState(() => Date.now() / 1000);
  useEffect(() => {
    if (!active) return undefined;
    const timer = setInterval(() => setNow(Date.now() / 1000), every);
    return () => clearInterval(timer);
  }, [active, every]);
  return now;
}

/** Something done on a click: whether it is under way, and what went wrong. */
export function useAction(act) {
  const [state, setState] = useState({ busy: false, error: null });
  const run = async (...given) => {
    setState({ busy: true, error: null });
    try {
      const done = await act(...given);
      setState({ busy: false, error: null });
      return done;
    } catch (error) {
      setState({ busy: false, error });
      return undefined;
    }
  };
  return { ...state, run };
}
