// What a turn has come to so far: its events become texts, programs with their calls, and questions, in the order in which they began.
import type { ChatAnswer, ChatEvent, ChatQuestion, ChatUsage } from "../api/shapes.ts";

const MOST_OUTPUT = 50_000; // characters of a program's output that the page keeps
const MOST_CALLS = 200; // calls of a program that the page lists; all are counted

export interface NestedCall {
  tool: string;
  isOk: boolean;
  ms: number;
}

export interface Program {
  kind: "program";
  number: number;
  code: string;
  tool: string | null;
  output: string;
  calls: NestedCall[];
  /** How many calls have ended, those that are not listed included. */
  callCount: number;
  status: string;
  ms: number | null;
  /** Why it failed, as the model reads it. */
  failure: string;
  execution: string;
}

export type Part = Program | { kind: "text"; text: string } | { kind: "note"; text: string };

export interface Turn {
  asked: string;
  parts: Part[];
  usage: ChatUsage | null;
  question: ChatQuestion | null;
  answer: ChatAnswer | null;
  /** What the turn waits for now. */
  waiting: string;
}

export const beginTurn = (asked: string): Turn => ({
  asked,
  parts: [],
  usage: null,
  question: null,
  answer: null,
  waiting: "thinking",
});

export function applyEvent(turn: Turn, event: ChatEvent): Turn {
  switch (event.type) {
    case "turn":
      return {
        ...turn,
        question: null,
        answer: null,
        waiting: "thinking",
        parts: event.why ? addNote(turn, event.why) : turn.parts,
      };
    case "text":
      return { ...turn, waiting: "", parts: addText(turn.parts, event.text) };
    case "code_delta":
      return changeProgram({ ...turn, waiting: "" }, event.program, (one) => ({ code: one.code + event.text }));
    case "code":
      return changeProgram({ ...turn, waiting: "running" }, event.program, () => ({
        code: event.code,
        tool: event.tool ?? null,
        status: "running",
      }));
    case "output":
      return changeProgram(turn, event.program, (one) => ({ output: (one.output + event.text).slice(-MOST_OUTPUT) }));
    case "call_finished":
      return changeProgram(turn, event.program, (one) => ({
        calls: [...one.calls, { tool: event.tool, isOk: event.ok, ms: event.ms }].slice(0, MOST_CALLS),
        callCount: one.callCount + 1,
      }));
    case "code_finished":
      return changeProgram({ ...turn, waiting: "thinking" }, event.program, () => ({
        status: event.status,
        ms: event.ms,
        failure: event.status === "ok" ? "" : event.text,
        execution: event.execution,
      }));
    case "searched":
      return { ...turn, parts: addNote(turn, `Searched “${event.query}”: ${event.found.join(", ") || "nothing"}`) };
    case "approval":
      return { ...turn, question: event.question, waiting: "" };
    case "waiting":
      return { ...turn, parts: addNote(turn, `Waiting ${Math.round(event.seconds)} s: ${event.why}`) };
    case "note":
      return { ...turn, parts: addNote(turn, event.text) };
    case "usage":
      return { ...turn, usage: event.usage };
    case "answer":
      return { ...turn, answer: event.answer, usage: event.answer.usage ?? turn.usage, waiting: "" };
    default:
      return turn; // a newer service may send events that this page does not know
  }
}

const addNote = (turn: Turn, text: string): Part[] => [...turn.parts, { kind: "note", text }];

function addText(parts: Part[], text: string): Part[] {
  const last = parts.at(-1);
  if (last?.kind !== "text") return [...parts, { kind: "text", text }];
  return [...parts.slice(0, -1), { kind: "text", text: last.text + text }];
}

const NEW_PROGRAM: Omit<Program, "number"> = {
  kind: "program",
  code: "",
  tool: null,
  output: "",
  calls: [],
  callCount: 0,
  status: "writing",
  ms: null,
  failure: "",
  execution: "",
};

function changeProgram(turn: Turn, number: number, change: (one: Program) => Partial<Program>): Turn {
  const isIt = (part: Part): part is Program => part.kind === "program" && part.number === number;
  const parts = turn.parts.some(isIt) ? turn.parts : [...turn.parts, { ...NEW_PROGRAM, number }];
  return { ...turn, parts: parts.map((part) => (isIt(part) ? { ...part, ...change(part) } : part)) };
}
