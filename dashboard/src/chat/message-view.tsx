// The messages of earlier turns, as they are kept.
import type { ConversationMessage } from "../api/shapes.ts";
import { Code, Plain } from "../parts/text-boxes.tsx";
import { AnswerText } from "./answer-text.tsx";

export function MessageView({ message }: { message: ConversationMessage }) {
  switch (message.kind) {
    case "user":
      return <p class="asked">{message.text}</p>;
    case "result":
      return (
        <details class="step">
          <summary>What the model read</summary>
          <Plain text={message.text} label="What the model read" />
        </details>
      );
    case "note":
      return <p class="quiet">{message.text}</p>;
    default:
      return (
        <>
          {message.text && <AnswerText text={message.text} />}
          {message.programs.map((program, place) => (
            <Code key={place} text={program} label="Program" />
          ))}
        </>
      );
  }
}
