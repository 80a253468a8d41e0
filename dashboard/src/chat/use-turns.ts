// Sends messages, and follows the turns that they begin.
import { useEffect, useRef, useState } from "preact/hooks";
import { post } from "../api/client.ts";
import { type Trouble, toTrouble } from "../api/errors.ts";
import type { ChatEvent, ChatMode } from "../api/shapes.ts";
import { followTurn, runTurn } from "../api/turns.ts";
import type { Decision } from "../approvals/plan-decision.tsx";

import { applyEvent, beginTurn, type Turn } from "./turn-state.ts";

type Begin = (onEvent: (event: ChatEvent) => void, signal: AbortSignal) => Promise<unknown>;

export interface Turns {
  /** The turns that began on this page, the oldest first. */
  turns: Turn[];
  isRunning: boolean;
  error: Trouble | null;
  send: (message: string, mode: ChatMode | null) => void;
  decide: (approve: Decision) => void;
  /** Continues a turn that was stopped or that failed. */
  resume: () => void;
  /** Follows a turn that another page began. */
  follow: () => void;
  stop: () => void;
}

interface Listener {
  /** Gets the id of the conversation that a first message has begun. */
  onBegun: (id: string) => void;
  onEnded: () => void;
}

export function useTurns(conversation: string | null, { onBegun, onEnded }: Listener): Turns {
  const [turns, setTurns] = useState<Turn[]>([]);
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<Trouble | null>(null);
  const id = useRef(conversation);
  const reading = useRef<AbortController | null>(null);
  useEffect(() => () => reading.current?.abort(), []);

  const changeLast = (change: (turn: Turn) => Turn) =>
    setTurns((old) => old.map((turn, n) => (n === old.length - 1 ? change(turn) : turn)));

  const run = async (begin: Begin) => {
    if (reading.current) return;
    const stop = new AbortController();
    reading.current = stop;
    setRunning(true);
    setError(null);
    try {
      await begin((event) => {
        if (event.type === "turn" && id.current === null) {
          id.current = event.conversation;
          onBegun(event.conversation);
        }
        changeLast((turn) => applyEvent(turn, event));
      }, stop.signal);
    } catch (caught) {
      if (!stop.signal.aborted) setError(toTrouble(caught));
    }
    reading.current = null;
    if (stop.signal.aborted) return;
    changeLast((turn) => ({ ...turn, waiting: "" }));
    setRunning(false);
    onEnded();
  };

  const begin = (asked: string, work: Begin) => {
    setTurns((old) => [...old, beginTurn(asked)]);
    void run(work);
  };
  const withId = (work: (found: string) => void) => id.current !== null && work(id.current);

  return {
    turns,
    isRunning,
    error,
    send: (message, mode) =>
      begin(message, (onEvent, signal) => runTurn("/chat", {}, { message, mode, conversation: id.current }, onEvent, signal)),
    decide: (approve) =>
      withId((found) =>
        begin("", (onEvent, signal) => runTurn("/chat/conversations/{id}/decide", { id: found }, { approve }, onEvent, signal)),
      ),
    resume: () =>
      withId((found) =>
        begin("", (onEvent, signal) => runTurn("/chat/conversations/{id}/resume", { id: found }, {}, onEvent, signal)),
      ),
    follow: () => withId((found) => begin("", (onEvent, signal) => followTurn(found, onEvent, signal))),
    stop: () =>
      withId(
        (found) => void post("/chat/conversations/{id}/stop", { id: found }, {}).catch((caught) => setError(toTrouble(caught))),
      ),
  };
}
