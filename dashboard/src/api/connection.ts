// Whether the service answers. While it does not, only this module asks again, and only while the tab is visible. Other modules
// wait for it, so that the parts of a page do not all ask at the same time.
import { useEffect, useReducer } from "preact/hooks";

/** Milliseconds: the first and the longest pause between two tries, and how long one try may take. */
const [FIRST, MOST, LATE] = [1000, 15_000, 5000];

interface Connection {
  /** Since when the service has not answered, in milliseconds since 1970; null while it answers. */
  lost: number | null;
  /** How often the service has come back; pages load again when it changes. */
  back: number;
}

const connection: Connection = { lost: null, back: 0 };
const listeners = new Set<() => void>();
let wake = () => {};

export const BASE = new URL("../", location.href.split("#")[0]);

function change(fields: Partial<Connection>) {
  Object.assign(connection, fields);
  for (const listener of [...listeners]) listener();
}

/** Notes that a request got no answer. */
export function reportLost() {
  if (connection.lost !== null) return;
  change({ lost: Date.now() });
  void askUntilAnswered();
}

/** Notes that a request got an answer. */
export function reportAnswer() {
  if (connection.lost === null) return;
  change({ lost: null, back: connection.back + 1 });
  wake();
}

/** Ends the pause between two tries. */
export const askNow = () => wake();

async function askUntilAnswered() {
  const since = connection.lost;
  for (let wait = FIRST; connection.lost === since; wait = Math.min(2 * wait, MOST)) {
    await pause(wait);
    await waitUntilVisible();
    if (connection.lost !== since) return;
    const answer = await fetch(new URL("health", BASE), { cache: "no-store", signal: AbortSignal.timeout(LATE) }).catch(
      () => null,
    );
    if (answer && !isGatewayStatus(answer.status)) reportAnswer();
  }
}

/** Whether a proxy sends this status when the service behind it is down. */
export const isGatewayStatus = (status: number) => status >= 502 && status <= 504;

const pause = (wait: number) =>
  new Promise<void>((done) => {
    const timer = setTimeout(done, wait);
    wake = () => {
      clearTimeout(timer);
      done();
    };
  });

/** Waits until the tab is visible, or until `signal` is aborted. */
export function waitUntilVisible(signal?: AbortSignal) {
  return waitUntil(
    () => !document.hidden,
    (check) => {
      document.addEventListener("visibilitychange", check);
      return () => document.removeEventListener("visibilitychange", check);
    },
    signal,
  );
}

/** Waits until the service answers, or until `signal` is aborted. */
export const waitUntilConnected = (signal?: AbortSignal) => waitUntil(() => connection.lost === null, subscribe, signal);

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}

/** Waits until `isSo` holds; `follow` calls back whenever that may have changed, and returns how to stop. */
function waitUntil(isSo: () => boolean, follow: (check: () => void) => () => void, signal?: AbortSignal) {
  if (isSo() || signal?.aborted) return Promise.resolve();
  return new Promise<void>((done) => {
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

/** The state of the connection; the component is drawn again when it changes. */
export function useConnection(): Connection {
  const [, redraw] = useReducer<number, void>((round) => round + 1, 0);
  useEffect(() => subscribe(() => redraw()), []);
  return { ...connection };
}
