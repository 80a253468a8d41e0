// Hooks that depend on time.
import { useEffect, useRef, useState } from "preact/hooks";
import { useConnection } from "../api/connection.ts";

const [SOON, CALM] = [300, 4000];

/** Calls `act` soon after `value` changes, but at most once every few seconds. Null is not a change. */
export function useCalmly(value: unknown, act: () => void) {
  const state = useRef<{ timer: number | null; last: number }>({ timer: null, last: 0 }).current;
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    if (value === null || state.timer !== null) return;
    const wait = Math.max(SOON, state.last + CALM - Date.now());
    state.timer = setTimeout(() => {
      Object.assign(state, { timer: null, last: Date.now() });
      latest.current();
    }, wait);
  }, [value]);
  useEffect(() => () => clearTimeout(state.timer ?? undefined), []);
}

const readClock = () => Date.now() / 1000;

/** The time in seconds since 1970. It ticks while `isActive`, and stops while the service does not answer: what runs is not known. */
export function useNow(isActive: boolean, every = 1000) {
  const { lost } = useConnection();
  const [now, setNow] = useState(readClock);
  useEffect(() => {
    if (!isActive || lost !== null) return undefined;
    setNow(readClock());
    const timer = setInterval(() => setNow(readClock()), every);
    return () => clearInterval(timer);
  }, [isActive, every, lost]);
  return now;
}
