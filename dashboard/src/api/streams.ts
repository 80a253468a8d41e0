// Streams of server-sent events. `EventSource` cannot send our header, so a stream is read with an ordinary request.
import { createParser } from "eventsource-parser";
import { waitUntilConnected, waitUntilVisible } from "./connection.ts";
import { Lost, Problem, type Trouble, toTrouble } from "./errors.ts";
import { fillPath } from "./fill-path.ts";
import { send, throwLost } from "./send.ts";
import type { RunEvent, RunningEvent } from "./shapes.ts";

/** The paths that stream, with the parameters and the events of each. */
interface Streams {
  "/events": { given: object; event: RunningEvent };
  "/executions/{id}/events": { given: { id: string }; event: RunEvent };
}

interface Listener<E> {
  /** Gets each event, and returns whether it is the last one. */
  onEvent: (event: E) => boolean;
  /** Gets the reason while there are no events. The stream is tried again. */
  onTrouble: (error: Trouble) => void;
}

interface Place {
  /** The id of the last event that was read. */
  last: string | null;
  /** How often the stream was tried since then. */
  tries: number;
}

const SILENCE = 40_000; // milliseconds: the service sends something every 15 s, so a stream that is silent for longer is dead
const [FIRST, MOST] = [1000, 30_000]; // milliseconds before a stream that failed is tried again

/**
 * Follows a stream until its last event. A stream that breaks is continued after its last event, as often as needed. A hidden tab
 * closes it, because a browser opens at most six connections to a service for all of its tabs.
 *
 * Throws `Problem` if trying again does not help.
 */
export async function listen<P extends keyof Streams>(
  path: P,
  given: Streams[P]["given"],
  listener: Listener<Streams[P]["event"]>,
  signal: AbortSignal,
) {
  const where = fillPath(path, given);
  const place: Place = { last: null, tries: 0 };
  while (!signal.aborted) {
    await waitUntilVisible(signal);
    await waitUntilConnected(signal);
    const hidden = new AbortController();
    const onVisibility = () => document.hidden && hidden.abort();
    document.addEventListener("visibilitychange", onVisibility);
    try {
      if (await readStream(where, listener.onEvent, place, AbortSignal.any([signal, hidden.signal]))) return;
      place.tries += 1;
    } catch (error) {
      if (signal.aborted) return;
      if (hidden.signal.aborted) continue;
      if (error instanceof Problem && !error.isTemporary) throw error;
      place.tries += 1;
      listener.onTrouble(toTrouble(error));
    } finally {
      document.removeEventListener("visibilitychange", onVisibility);
    }
    const wait = Math.min(FIRST * 2 ** (place.tries - 1), MOST);
    await new Promise((wake) => setTimeout(wake, wait));
  }
}

/** Reads one stream until it closes; returns whether its last event was among what was read. */
async function readStream<E>(where: string, onEvent: (event: E) => boolean, place: Place, signal: AbortSignal) {
  const silent = new AbortController();
  let isOver = false;
  let alarm: number | undefined;
  const resetAlarm = () => {
    clearTimeout(alarm);
    alarm = setTimeout(() => silent.abort(), SILENCE);
  };
  const parser = createParser({
    onEvent: ({ id, data }) => {
      Object.assign(place, { last: id ?? place.last, tries: 0 });
      isOver = onEvent(JSON.parse(data)) || isOver;
    },
  });
  try {
    resetAlarm();
    const headers: Record<string, string> = place.last ? { "Last-Event-ID": place.last } : {};
    const { body } = await send(where, { headers, signal: AbortSignal.any([signal, silent.signal]) });
    const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const part = await reader?.read();
      if (!part || part.done) return isOver;
      resetAlarm();
      parser.feed(part.value);
    }
  } catch (error) {
    if (error instanceof Problem || error instanceof Lost) throw error;
    return throwLost(error, signal);
  } finally {
    clearTimeout(alarm);
  }
}
