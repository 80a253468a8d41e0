// Whether the service answers. While it does not, one place asks again and again, as long as anybody looks; whoever needs the
// service waits for that, so that nothing is asked five times a second by five parts of a page.
import { useEffect, useReducer } from "preact/hooks";

const [FIRST, MOST, LATE] = [1000, 15_000, 5000];

/** `lost`: since when (ms), or null; `back`: how often it came back, for whatever has to be asked anew then. */
const link = { lost: null, back: 0 };
const listeners = new Set();
let wake = () => {};

export const BASE = new URL("../", location.href.split("#")[0]);

function tell(fields) {
  Object.assign(link, fields);
  for (const listener of [...listeners]) listener();
}

/** Something got no answer. */
export function failed() {
  if (link.lost !== null) return;
  tell({ lost: Date.now() });
  ask();
}

/** Something got an answer. */
export function answered() {
  if (link.lost === null) return;
  tell({ lost: null, back: link.back + 1 });
  wake();
}

/** Ask at once instead of later. */
export const askNow = () => wake();

async function ask() {
  const since = link.lost;
  for (let wait = FIRST; link.lost === since; wait = Math.min(2 * wait, MOST)) {
    await rest(wait);
    await watched();
    if (link.lost !== since) return;
    const answer = await fetch(new URL("health", BASE), { cache: "no-store", signal: AbortSignal.timeout(LATE) }).catch(
      () => null,
    );
    if (answer && !isGateway(answer.status)) answered();
  }
}

/** What stands before a service that is down says so with these. */
export const isGateway = (status) => status >= 502 && status <= 504;

const rest = (wait) =>
  new Promise((done) => {
    const timer = setTimeout(done, wait);
    wake = () => {
      clearTimeout(timer);
      done();
    };
  });

/** When somebody looks at the tab. */
export function watched(signal) {
  return until(
    () => !document.hidden,
    (check) => {
      document.addEventListener("visibilitychange", check);
      return () => document.removeEventListener("visibilitychange", check);
    },
    signal,
  );
}

/** When the service answers. */
export function connected(signal) {
  return until(
    () => link.lost === null,
    (check) => {
      listeners.add(check);
      return () => listeners.delete(check);
    },
    signal,
  );
}

function until(isSo, follow, signal) {
  if (isSo() || signal?.aborted) return Promise.resolve();
  return new Promise((done) => {
    const check = () => {
      if (!isSo() && !signal?.aborted) return;
      leave();
      signal?.removeEventListener("abort", check);
      done();
    };
    const leave = follow(check);
    signal?.addEventListener("abort", check);
  });
}

addEventListener("online", askNow);

/** The state above, told whenever it changes. */
export function useLink() {
  const [, changed] = useReducer((round) => round + 1, 0);
  useEffect(() => {
    const listener = () => changed();
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, []);
  return { ...link };
}
