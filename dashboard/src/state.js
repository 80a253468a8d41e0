// The few hooks that pages share: what was loaded, who we are, what is under way.
import { createContext } from "preact";
import { useCallback, useContext, useEffect, useRef, useState } from "preact/hooks";
import { Lost } from "./api.js";
import { useLink } from "./link.js";

export const Who = createContext(null);
export const useWho = () => useContext(Who);
export const may = (who, ...scopes) => Boolean(who) && scopes.some((scope) => who.scopes.includes(scope));

/** Whether something of ``caller`` that only its owner and an admin see is in our sight. */
export const owns = (who, caller) => may(who, "admin") || Boolean(who && caller && caller === who.caller);

const NOTHING = { value: undefined, error: null, loading: true };

/**
 * Load something; again when the service is back after it was lost, with another `round`, and by `every` so many milliseconds after
 * it has come, as long as anybody looks at the tab.
 */
export function useLoad(load, wants, { every = 0, round: asked = 0 } = {}) {
  const [state, setState] = useState(NOTHING);
  const [round, setRound] = useState(0);
  const { back } = useLink();
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => setState(NOTHING), wants);
  useEffect(() => {
    const stop = new AbortController();
    let [timer, isBusy] = [null, false];
    const told = (fields) => stop.signal.aborted || setState((old) => ({ ...old, ...fields, loading: false }));
    const once = async () => {
      if (isBusy) return;
      isBusy = true;
      clearTimeout(timer);
      await latest.current(stop.signal).then(
        (value) => told({ value, error: null }),
        // What was there stays, and the page says that the connection is lost.
        (error) => stop.signal.aborted || setState((old) => failedState(old, error)),
      );
      isBusy = false;
      if (every && !stop.signal.aborted) timer = setTimeout(() => document.hidden || once(), every);
    };
    const seen = () => every && !document.hidden && once();
    once();
    document.addEventListener("visibilitychange", seen);
    return () => {
      stop.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    };
  }, [...wants, round, asked, every, back]);
  return { ...state, again: useCallback(() => setRound((count) => count + 1), []) };
}

const failedState = (old, error) =>
  error instanceof Lost && old.value !== undefined ? { ...old, loading: false } : { ...old, error, loading: false };

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

/** A clock that ticks while it is needed; it stands still while the service does not answer, since nobody knows what runs on. */
export function useNow(active, every = 1000) {
  const { lost } = useLink();
  const [now, setNow] = useState(() => Date.now() / 1000);
  useEffect(() => {
    if (!active || lost !== null) return undefined;
    setNow(Date.now() / 1000);
    const timer = setInterval(() => setNow(Date.now() / 1000), every);
    return () => clearInterval(timer);
  }, [active, every, lost]);
  return now;
}

/** Something done on a click: whether it is under way, and what went wrong. Its button stays as it is meanwhile, since one that is
 * disabled loses the focus: a second click does nothing. */
export function useAction(act) {
  const [state, setState] = useState({ busy: false, error: null });
  const { back } = useLink();
  const isBusy = useRef(false);
  useEffect(() => setState((old) => (old.error instanceof Lost ? { ...old, error: null } : old)), [back]); // it answers again
  const run = async (...given) => {
    if (isBusy.current) return undefined;
    isBusy.current = true;
    setState({ busy: true, error: null });
    try {
      const done = await act(...given);
      setState({ busy: false, error: null });
      return done;
    } catch (error) {
      setState({ busy: false, error });
      return undefined;
    } finally {
      isBusy.current = false;
    }
  };
  return { ...state, run };
}
