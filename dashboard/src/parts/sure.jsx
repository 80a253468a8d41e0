// Steps that cannot be undone ask once more, and so that a second Enter or a double click answers no.
import { useLayoutEffect, useRef, useState } from "preact/hooks";

/** `label` on the button; `ask` on the one that does it; `about` is what it is done to, for those who only hear it. */
export function Sure({ label, ask, about, onConfirm, disabled }) {
  const [asked, setAsked] = useState(null); // null until it was used: then the focus follows the button that took its place
  const focus = useRef(null);
  useLayoutEffect(() => {
    if (asked !== null) focus.current?.focus();
  }, [asked]);
  const named = (text) => (about ? `${text}: ${about}` : text);
  if (!asked) {
    return (
      <button
        type="button"
        class="plain"
        ref={focus}
        disabled={disabled}
        aria-label={named(label)}
        onClick={() => setAsked(true)}
      >
        {label}
      </button>
    );
  }
  const answer = (yes) => () => {
    setAsked(false);
    if (yes) onConfirm();
  };
  const keys = (event) => event.key === "Escape" && setAsked(false);
  return (
    <span class="sure" role="group" aria-label={named(ask)} onKeyDown={keys}>
      <button type="button" class="plain" ref={focus} onClick={answer(false)}>
        Keep
      </button>
      <button type="button" class="danger" aria-label={named(ask)} onClick={answer(true)}>
        {ask}
      </button>
    </span>
  );
}

/** A line that says what was done, and takes the focus, since what it was done with is gone. */
export function Said({ text }) {
  const line = useRef(null);
  useLayoutEffect(() => {
    if (text) line.current?.focus();
  }, [text]);
  return (
    <p class={text ? "said" : "unseen"} role="status" tabIndex={-1} ref={line}>
      {text}
    </p>
  );
}
