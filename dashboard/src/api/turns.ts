// Turns of a chat: each begins with a request whose answer is a stream of events.
import { createParser } from "eventsource-parser";
import type { paths } from "./api.d.ts";
import { Problem } from "./errors.ts";
import { fillPath } from "./fill-path.ts";
import { send, throwLost } from "./send.ts";
import type { ChatEvent } from "./shapes.ts";

interface Bodies {
  "/chat": paths["/chat"]["post"]["requestBody"]["content"]["application/json"];
  "/chat/conversations/{id}/decide": paths["/chat/conversations/{id}/decide"]["post"]["requestBody"]["content"]["application/json"];
  "/chat/conversations/{id}/resume": NonNullable<
    paths["/chat/conversations/{id}/resume"]["post"]["requestBody"]
  >["content"]["application/json"];
}

type OnEvent = (event: ChatEvent) => void;

const HEADERS = { "Content-Type": "application/json", Accept: "text/event-stream" };

/** Begins a turn or continues one, and gives its events to `onEvent` until the last. It is not sent again if the connection breaks. */
export const runTurn = <P extends keyof Bodies>(
  path: P,
  given: object,
  body: Omit<Bodies[P], "stream">,
  onEvent: OnEvent,
  signal: AbortSignal,
) =>
  readTurn(fillPath(path, given), onEvent, signal, {
    method: "POST",
    headers: HEADERS,
    body: JSON.stringify({ ...body, stream: true }),
  });

/** Follows the turn that runs now, from its beginning. Returns false if none does. */
export async function followTurn(id: string, onEvent: OnEvent, signal: AbortSignal) {
  try {
    await readTurn(fillPath("/chat/conversations/{id}/events", { id }), onEvent, signal, {});
    return true;
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return false;
    throw error;
  }
}

async function readTurn(where: string, onEvent: OnEvent, signal: AbortSignal, request: object) {
  const { body } = await send(where, { ...request, signal });
  let isOver = false;
  const parser = createParser({
    onEvent: ({ data }) => {
      const event: ChatEvent = JSON.parse(data);
      isOver ||= event.type === "answer";
      onEvent(event);
    },
  });
  try {
    const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) parser.feed(part.value);
  } catch (error) {
    throwLost(error, signal);
  }
  if (!isOver) throwLost(null, signal); // the service ended in the middle of the turn
}
