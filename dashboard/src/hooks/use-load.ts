// Loads what a component shows, and loads it again when needed.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { useConnection } from "../api/connection.ts";
import { Lost, type Trouble, toTrouble } from "../api/errors.ts";

interface LoadState<T> {
  /** Undefined until it has been loaded once. */
  value: T | undefined;
  error: Trouble | null;
  loading: boolean;
}

export interface Load<T> extends LoadState<T> {
  /** Loads again at once. */
  again: () => void;
}

interface Repeat {
  /** Load again so many milliseconds after each load, while the tab is visible. */
  every?: number;
  /** Load again when this changes. */
  round?: number;
}

const NOTHING: LoadState<never> = { value: undefined, error: null, loading: true };

/** Loads something: at first, when one of `inputs` changes, when the service is back after it was lost, and as `repeat` says. */
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, inputs: unknown[], repeat: Repeat = {}): Load<T> {
  const { every = 0, round: asked = 0 } = repeat;
  const [state, setState] = useState<LoadState<T>>(NOTHING);
  const [round, setRound] = useState(0);
  const { back } = useConnection();
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => setState(NOTHING), inputs);
  useEffect(() => {
    const stop = new AbortController();
    let timer: number | undefined;
    let isBusy = false;
    const update = (change: (old: LoadState<T>) => LoadState<T>) => {
      if (!stop.signal.aborted) setState(change);
    };
    const loadOnce = async () => {
      if (isBusy) return;
      isBusy = true;
      clearTimeout(timer);
      await latest.current(stop.signal).then(
        (value) => update(() => ({ value, error: null, loading: false })),
        (error: unknown) => update((old) => noteError(old, error)),
      );
      isBusy = false;
      if (every && !stop.signal.aborted) timer = setTimeout(() => document.hidden || loadOnce(), every);
    };
    const onVisibility = () => {
      if (every && !document.hidden) void loadOnce();
    };
    void loadOnce();
    document.addEventListener("visibilitychange", onVisibility);
    return () => {
      stop.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onVisibility);
    };
  }, [...inputs, round, asked, every, back]);
  return { ...state, again: useCallback(() => setRound((count) => count + 1), []) };
}

/** Adds an error to the state. If only the connection is lost, the value stays without an error: the shell already says so. */
const noteError = <T>(old: LoadState<T>, error: unknown): LoadState<T> =>
  error instanceof Lost && old.value !== undefined
    ? { ...old, loading: false }
    : { ...old, error: toTrouble(error), loading: false };
