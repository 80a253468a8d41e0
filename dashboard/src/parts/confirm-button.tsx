// A button for a step that cannot be undone. It asks first, and a second Enter or a double click answers no.
import { useLayoutEffect, useRef, useState } from "preact/hooks";

interface ConfirmButtonProps {
  label: string;
  /** The label of the button that does it. */
  ask: string;
  /** What it is done to, for screen readers. */
  about?: string;
  onConfirm: () => void;
  disabled?: boolean;
}

export function ConfirmButton({ label, ask, about, onConfirm, disabled }: ConfirmButtonProps) {
  // Null until the button was used; from then on the focus moves to the button that replaced the one that was pressed.
  const [asked, setAsked] = useState<boolean | null>(null);
  const focus = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    if (asked !== null) focus.current?.focus();
  }, [asked]);
  const addAbout = (text: string) => (about ? `${text}: ${about}` : text);
  if (!asked) {
    return (
      <button
        type="button"
        class="plain"
        ref={focus}
        disabled={disabled}
        aria-label={addAbout(label)}
        onClick={() => setAsked(true)}
      >
        {label}
      </button>
    );
  }
  const answer = (isYes: boolean) => () => {
    setAsked(false);
    if (isYes) onConfirm();
  };
  return (
    <span class="sure" role="group" aria-label={addAbout(ask)} onKeyDown={(event) => event.key === "Escape" && setAsked(false)}>
      <button type="button" class="plain" ref={focus} onClick={answer(false)}>
        Keep
      </button>
      <button type="button" class="danger" aria-label={addAbout(ask)} onClick={answer(true)}>
        {ask}
      </button>
    </span>
  );
}
