// The public API, and nothing else. A token lives in this tab only (sessionStorage) and goes out as a header.
import { EventSourceParserStream } from "eventsource-parser/stream";

const BASE = new URL("../", location.href.split("#")[0]);
const KEY = "gristmill.token";
const RETRIES = 5;

export class Problem extends Error {
  constructor(status, told) {
    super(told.message || `the service answered ${status}`);
    this.status = status;
    this.code = told.code || "error";
  }
}

export const token = {
  get: () => sessionStorage.getItem(KEY),
  set: (text) => (text ? sessionStorage.setItem(KEY, text) : sessionStorage.removeItem(KEY)),
};

/** Called when the service wants a token, or another one. */
export const onUnauthorized = { call: () => {} };

export const path = (...parts) => parts.map((part) => encodeURIComponent(part)).join("/");

export function query(values) {
  const kept = Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return kept.length ? `?${new URLSearchParams(kept)}` : "";
}

async function send(where, { method = "GET", body, headers = {}, signal } = {}) {
  const secret = token.get();
  const sent = { ...headers, ...(secret ? { Authorization: `Bearer ${secret}` } : {}) };
  const response = await fetch(new URL(where, BASE), { method, body, headers: sent, signal, cache: "no-store" });
  if (response.ok) return response;
  const problem = new Problem(response.status, await response.json().catch(() => ({})));
  if (response.status === 401) onUnauthorized.call();
  throw problem;
}

const JSON_TYPE = { "Content-Type": "application/json" };

export const get = async (where, signal) => (await send(where, { signal })).json();
export const post = async (where, value) =>
  (await send(where, { method: "POST", body: JSON.stringify(value), headers: JSON_TYPE })).json();
export const put = async (where, bytes) => (await send(where, { method: "PUT", body: bytes })).json();
export const remove = (where) => send(where, { method: "DELETE" });
export const raw = (where, signal) => send(where, { signal });

/** Server-sent events with our header, which `EventSource` cannot send; a broken stream is taken up where it broke. */
export async function listen(where, hear, signal) {
  let last = null;
  for (let tries = 0; tries < RETRIES && !signal.aborted;) {
    try {
      const headers = last ? { "Last-Event-ID": last } : {};
      const { body } = await send(where, { headers, signal });
      const events = body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream()).getReader();
      for (;;) {
        const { done, value } = await events.read();
        if (done) return;
        [last, tries] = [value.id ?? last, 0];
        hear(JSON.parse(value.data));
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Problem) throw error;
      tries += 1;
      await new Promise((wake) => setTimeout(wake, 500 * 2 ** tries));
    }
  }
}
