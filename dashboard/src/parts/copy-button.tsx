// A button that copies a text. It says that it did, also to a screen reader.
import { useState } from "preact/hooks";

const SHOWN = 2000; // milliseconds

export function CopyButton({ text, label, about }: { text: string; label: string; about?: string }) {
  const [said, setSaid] = useState("");
  const say = (words: string) => {
    setSaid(words);
    setTimeout(() => setSaid(""), SHOWN);
  };
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => say("Copied"),
      () => say("The browser does not allow it"),
    );
  return (
    <button type="button" class="chip" aria-label={about ? `${label}: ${about}` : undefined} onClick={() => void copy()}>
      <span aria-live="polite">{said || label}</span>
    </button>
  );
}
