// Small pieces of every page. All text goes in as text: nothing here makes markup out of strings.
import { cloneElement } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { full, mood, when } from "../words.js";

export const Status = ({ value }) => <span class={`status ${mood(value)}`}>{String(value).replaceAll("_", " ")}</span>;

export const Time = ({ at }) =>
  at ? (
    <time dateTime={new Date(at * 1000).toISOString()} title={full.format(at * 1000)}>
      {when(at)}
    </time>
  ) : (
    <span>–</span>
  );

export const Header = ({ title, lead, children }) => (
  <header class="head">
    <div>
      <h1>{title}</h1>
      {lead && <p class="lead">{lead}</p>}
    </div>
    {children && <div class="actions">{children}</div>}
  </header>
);

/** Nothing is here yet: says why, and what would put something here. */
export const Empty = ({ title, children }) => (
  <div class="empty">
    <p class="empty-title">{title}</p>
    {children}
  </div>
);

export const Failure = ({ error }) =>
  error && (
    <p class="failure" role="alert">
      <strong>{error.code || "error"}</strong> {error.message}
    </p>
  );

/** What was loaded, or that it is on its way, or why it is not there. */
export function Loaded({ of, children }) {
  if (of.value !== undefined) {
    return (
      <>
        <Failure error={of.error} />
        {children(of.value)}
      </>
    );
  }
  return of.error ? (
    <Failure error={of.error} />
  ) : (
    <p class="quiet" aria-busy="true">
      Loading …
    </p>
  );
}

/** A value that a reader wants at a glance. */
export const Tile = ({ label, value, note, tone }) => (
  <div class={`tile ${tone || ""}`}>
    <dt>{label}</dt>
    <dd>
      <span class="value">{value}</span>
      {note && <span class="note">{note}</span>}
    </dd>
  </div>
);

export const Tiles = ({ children }) => <dl class="tiles">{children}</dl>;

/** A control with its name; a hint is a description, not a part of the name. */
export function Field({ label, hint, grow, children }) {
  const id = useId();
  const told = hint ? `${id}-hint` : undefined;
  return (
    <div class={grow ? "field grow" : "field"}>
      <label htmlFor={id}>{label}</label>
      {cloneElement(children, { id, "aria-describedby": told })}
      {hint && <small id={told}>{hint}</small>}
    </div>
  );
}

/** A button that asks once more before it does what cannot be undone. */
export function Sure({ label, ask, onConfirm, disabled }) {
  const [asked, setAsked] = useState(null); // null until it was used: then the focus follows the button that took its place
  const focus = useRef(null);
  useEffect(() => {
    if (asked !== null) focus.current?.focus();
  }, [asked]);
  if (!asked) {
    return (
      <button type="button" class="plain" ref={focus} disabled={disabled} onClick={() => setAsked(true)}>
        {label}
      </button>
    );
  }
  const answer = (yes) => () => {
    setAsked(false);
    if (yes) onConfirm();
  };
  return (
    <span class="sure" role="group" aria-label={ask}>
      <button type="button" class="danger" ref={focus} onClick={answer(true)}>
        {ask}
      </button>
      <button type="button" class="plain" onClick={answer(false)}>
        Keep
      </button>
    </span>
  );
}

export const Facts = ({ of }) => (
  <dl class="facts">
    {Object.entries(of)
      .filter(([, value]) => value !== null && value !== undefined && value !== "")
      .map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
  </dl>
);
