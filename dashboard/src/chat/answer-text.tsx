// The text of an answer with a little Markdown. Nothing in it becomes HTML, and no link or picture of it is followed.
import type { ComponentChildren } from "preact";
import { Code } from "../parts/text-boxes.tsx";

const FENCE = /^\s*```/;
const MARKS = /\*\*([^*\n]+)\*\*|`([^`\n]+)`/g;

export function AnswerText({ text }: { text: string }) {
  return <div class="answer">{splitBlocks(text).map(drawBlock)}</div>;
}

interface Block {
  kind: "code" | "list" | "text" | "title";
  lines: string[];
}

/** Splits a text at empty lines, fences and headings. A fence that is still open holds the rest. */
export function splitBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  let open = null as Block | null;
  for (const line of text.split("\n")) {
    if (FENCE.test(line)) {
      open = open?.kind === "code" ? null : addBlock(blocks, "code");
    } else if (open?.kind === "code") {
      open.lines.push(line);
    } else if (!line.trim()) {
      open = null;
    } else {
      const kind = /^#+ /.test(line) ? "title" : /^\s*([-*]|\d+\.) /.test(line) ? "list" : "text";
      if (open === null || kind === "title" || (open.kind !== kind && !(open.kind === "list" && kind === "text")))
        open = addBlock(blocks, kind);
      open.lines.push(line);
    }
  }
  return blocks;
}

function addBlock(blocks: Block[], kind: Block["kind"]): Block {
  const block: Block = { kind, lines: [] };
  blocks.push(block);
  return block;
}

function drawBlock({ kind, lines }: Block, place: number) {
  switch (kind) {
    case "code":
      return <Code key={place} text={lines.join("\n")} label="Code in the answer" />;
    case "list":
      return (
        <ul key={place}>
          {lines.map((line, number) => (
            <li key={number}>{drawMarks(line.replace(/^\s*[-*] /, ""))}</li>
          ))}
        </ul>
      );
    case "title":
      return <h3 key={place}>{lines.join(" ").replace(/^#+ /, "")}</h3>;
    default:
      return <p key={place}>{drawMarks(lines.join("\n"))}</p>;
  }
}

function drawMarks(text: string): ComponentChildren[] {
  const drawn: ComponentChildren[] = [];
  let end = 0;
  for (const found of text.matchAll(MARKS)) {
    drawn.push(text.slice(end, found.index));
    drawn.push(found[1] === undefined ? <code>{found[2]}</code> : <strong>{found[1]}</strong>);
    end = found.index + found[0].length;
  }
  return [...drawn, text.slice(end)];
}
