// A line that says what was done.
import { useLayoutEffect, useRef } from "preact/hooks";

/** It takes the focus, because the button that was pressed may be gone. */
export function Notice({ text }: { text: string }) {
  const line = useRef<HTMLParagraphElement>(null);
  useLayoutEffect(() => {
    if (text) line.current?.focus();
  }, [text]);
  return (
    <p class={text ? "said" : "unseen"} role="status" tabIndex={-1} ref={line}>
      {text}
    </p>
  );
}
