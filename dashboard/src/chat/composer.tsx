// Where the next message is written.
import type { TargetedKeyboardEvent } from "preact";
import { useState } from "preact/hooks";
import type { ChatMode } from "../api/shapes.ts";
import { Choice, Field } from "../parts/fields.tsx";

const MODES: readonly (ChatMode | "")[] = ["", "code", "hybrid", "direct", "auto", "blocks"];

interface ComposerProps {
  isRunning: boolean;
  /** Why no message can be sent now. */
  blocked: string;
  send: (message: string, mode: ChatMode | null) => void;
  stop: () => void;
}

export function Composer({ isRunning, blocked, send, stop }: ComposerProps) {
  const [message, setMessage] = useState("");
  const [mode, setMode] = useState<ChatMode | "">("");
  const isReady = !isRunning && !blocked && Boolean(message.trim());
  const submit = () => {
    if (!isReady) return;
    setMessage("");
    send(message.trim(), mode || null);
  };
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLTextAreaElement>) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit();
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <Field label="Message" hint={blocked || "Enter sends it, Shift+Enter begins a new line."} grow>
        <textarea
          rows={Math.min(12, Math.max(2, message.split("\n").length))}
          value={message}
          onInput={(event) => setMessage(event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
      </Field>
      <div class="filters">
        <Field label="Mode">
          <Choice
            of={MODES}
            value={mode}
            words={{ "": "as configured" }}
            onChange={(event) => setMode(event.currentTarget.value as ChatMode | "")}
          />
        </Field>
        {isRunning ? (
          <button type="button" class="danger" onClick={stop}>
            Stop
          </button>
        ) : (
          <button type="submit" disabled={!isReady}>
            Send
          </button>
        )}
      </div>
    </form>
  );
}
