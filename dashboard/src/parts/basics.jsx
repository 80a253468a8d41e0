// Small pieces of every page. All text goes in as text: nothing here makes markup out of strings.
import { cloneElement } from "preact";
import { useEffect, useId } from "preact/hooks";
import { to } from "../route.js";
import { seen } from "../shown.js";
import { owns, useWho } from "../state.js";
import { full, mood, when, worded } from "../words.js";

export const Status = ({ value, children }) => <span class={`status ${mood(value)}`}>{children || worded(value)}</span>;

/** A time, as short as it can be; in full where the pointer rests. */
export const Time = ({ at, format = when }) =>
  at ? (
    <time dateTime={new Date(at * 1000).toISOString()} title={full.format(at * 1000)}>
      {format(at)}
    </time>
  ) : (
    <span>–</span>
  );

/** The head of a page; `tab` is its name among the browser's tabs, where that is not its title. */
export function Header({ title, tab = title, lead, children }) {
  useEffect(() => {
    document.title = seen(`${tab} · Gristmill`);
  }, [tab]);
  return (
    <header class="head">
      <div class="head-text">
        <h1>{title}</h1>
        {lead && <p class="lead">{lead}</p>}
      </div>
      {children && <div class="actions">{children}</div>}
    </header>
  );
}

export const Crumbs = ({ children }) => <p class="crumbs">{children}</p>;

/** Nothing is here yet: says why, and what would put something here. */
export const Empty = ({ title, children }) => (
  <div class="empty">
    <p class="empty-title">{title}</p>
    {children}
  </div>
);

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?:…]$/.test(text) ? "" : ".");

/** What went wrong, and a way on. */
export const Failure = ({ error, again }) =>
  error && (
    <div class="failure" role="alert">
      <p>
        {sentence(error.message)} {error.code && <small>({error.code})</small>}
      </p>
      {error.status === 403 && <a href={to("token")}>Use another token</a>}
      {again && error.status !== 403 && error.status !== 404 && (
        <button type="button" class="plain" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );

export const Waits = () => (
  <p class="quiet" aria-busy="true">
    Loading …
  </p>
);

/** What was loaded, or that it is on its way, or why it is not there. */
export function Loaded({ of, children }) {
  const failure = <Failure error={of.error} again={of.again} />;
  if (of.value === undefined) return of.error ? failure : <Waits />;
  return (
    <>
      {failure}
      {children(of.value)}
    </>
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

/** A choice among a few; what is not among them, and was asked for all the same, is shown too. */
export const Choice = ({ of, value, words = {}, ...more }) => (
  <select value={value} {...more}>
    {[...new Set([...of, value])].map((one) => (
      <option key={one} value={one}>
        {words[one] ?? worded(one)}
      </option>
    ))}
  </select>
);

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

/** A session's name; a link for those who can open it, which are its caller and an admin. */
export function SessionName({ name, caller }) {
  const who = useWho();
  if (!name) return <span class="quiet">none</span>;
  return owns(who, caller) ? (
    <a class="named" href={to("sessions", name)}>
      {name}
    </a>
  ) : (
    <span class="named" title="Its caller and an admin can open it.">
      {name}
    </span>
  );
}
