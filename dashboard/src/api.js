// The public API, and nothing else. A token lives in this tab only (sessionStorage) and goes out as a header.
import { createParser } from "eventsource-parser";
import { answered, BASE, connected, failed, isGateway, watched } from "./link.js";

const KEY = "gristmill.token";
const SILENCE = 40_000; // a stream says something every 15 s at least: after this it is dead, whatever the network thinks
const [FIRST, MOST] = [1000, 30_000]; // milliseconds before a refused stream is asked for again

/** The service answered that it will not. */
export class Problem extends Error {
  constructor(status, told) {
    super(told?.message || `The service answered ${status}.`);
    this.status = status;
    this.code = told?.code || null;
    this.passes = status === 429 || status >= 500; // the same request may be done later
  }
}

/** The service did not answer. */
export class Lost extends Error {
  constructor() {
    super("The service does not answer.");
  }
}

export const token = {
  get: () => sessionStorage.getItem(KEY),
  set: (text) => (text ? sessionStorage.setItem(KEY, text) : sessionStorage.removeItem(KEY)),
};

/** Called when the service wants a token, or another one. */
export const onUnauthorized = { call: () => {} };

export const path = (...parts) => parts.map((part) => encodeURIComponent(part)).join("/");

export const fileOf = (session, file) => `sessions/${path(session)}/files/${path(...file.split("/"))}`;

export function query(values) {
  const kept = Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return kept.length ? `?${new URLSearchParams(kept)}` : "";
}

async function send(where, { method = "GET", body, headers = {}, signal } = {}) {
  const secret = token.get();
  const sent = { ...headers, ...(secret ? { Authorization: `Bearer ${secret}` } : {}) };
  const request = { method, body, headers: sent, signal, cache: "no-store" };
  const response = await fetch(new URL(where, BASE), request).catch((error) => lost(error, signal));
  if (response.ok) {
    answered();
    return response;
  }
  const told = await response.json().catch(() => null);
  if (isGateway(response.status) && !told?.code) lost(null); // said by what stands before the service, not by itself
  answered();
  if (response.status === 401) onUnauthorized.call();
  throw new Problem(response.status, told);
}

function lost(error, signal) {
  if (signal?.aborted) throw error; // by ourselves
  failed();
  throw new Lost();
}

const JSON_TYPE = { "Content-Type": "application/json" };

export const get = async (where, signal) => (await send(where, { signal })).json();
export const post = async (where, value) =>
  (await send(where, { method: "POST", body: JSON.stringify(value), headers: JSON_TYPE })).json();
export const put = async (where, bytes) => (await send(where, { method: "PUT", body: bytes })).json();
export const remove = (where) => send(where, { method: "DELETE" });
export const raw = (where, signal) => send(where, { signal });

/**
 * Server-sent events with our header, which `EventSource` cannot send. A broken stream is taken up where it broke, for as long as
 * it takes; a hidden tab lets go of it, since a browser has six connections to a service for all of its tabs.
 *
 * `hear(event)` answers true for the last event; `trouble(error)` hears why there is nothing to hear for a while.
 */
export async function listen(where, { hear, trouble = () => {} }, signal) {
  const place = { last: null, tries: 0 };
  while (!signal.aborted) {
    await watched(signal);
    await connected(signal);
    const stop = new AbortController();
    const hidden = () => document.hidden && stop.abort();
    document.addEventListener("visibilitychange", hidden);
    try {
      if (await follow(where, hear, place, AbortSignal.any([signal, stop.signal]))) return;
      place.tries += 1;
    } catch (error) {
      if (signal.aborted) return;
      if (stop.signal.aborted) continue;
      if (error instanceof Problem && !error.passes) throw error;
      place.tries += 1;
      trouble(error);
    } finally {
      document.removeEventListener("visibilitychange", hidden);
    }
    const wait = Math.min(FIRST * 2 ** (place.tries - 1), MOST);
    await new Promise((wake) => setTimeout(wake, wait));
  }
}

/** Read one stream to its end; whether that was the end of the story, too. */
async function follow(where, hear, place, signal) {
  const silent = new AbortController();
  let [isOver, alarm] = [false, null];
  const watch = () => {
    clearTimeout(alarm);
    alarm = setTimeout(() => silent.abort(), SILENCE);
  };
  const parser = createParser({
    onEvent: ({ id, data }) => {
      Object.assign(place, { last: id ?? place.last, tries: 0 });
      isOver = hear(JSON.parse(data)) || isOver;
    },
  });
  try {
    watch();
    const headers = place.last ? { "Last-Event-ID": place.last } : {};
    const { body } = await send(where, { headers, signal: AbortSignal.any([signal, silent.signal]) });
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return isOver;
      watch();
      parser.feed(value);
    }
  } catch (error) {
    if (error instanceof Problem || error instanceof Lost) throw error;
    return lost(error, signal);
  } finally {
    clearTimeout(alarm);
  }
}
