// Code, output, JSON and differences. Long text scrolls in its own box, which the keyboard can reach.
import { useEffect, useRef } from "preact/hooks";
import { count, pretty } from "../words.js";

export const Box = ({ label, children, className = "" }) => (
  <div class={`box ${className}`} role="group" aria-label={label} tabIndex={0}>
    {children}
  </div>
);

export const Code = ({ text, label = "Code" }) => (
  <Box label={label}>
    <ol class="code">
      {text
        .replace(/\n$/, "")
        .split("\n")
        .map((line, place) => (
          <li key={place}>
            <code>{line || " "}</code>
          </li>
        ))}
    </ol>
  </Box>
);

export const Plain = ({ text, label, className }) => (
  <Box label={label} className={className}>
    <pre>{text}</pre>
  </Box>
);

export const Json = ({ value, label }) => <Plain text={pretty(value)} label={label} />;

/** Lines that a terminal would write over each other stand below each other here: a progress bar hides nothing. */
const lines = (text) => text.replace(/\r\n?/g, "\n");

/** Output that grows: it follows its end, unless the reader has scrolled up. `cut` and `dropped`: see `run.jsx`. */
export function Output({ text, running, cut = 0, dropped = 0 }) {
  const box = useRef(null);
  const atEnd = useRef(true);
  useEffect(() => {
    if (box.current && atEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text]);
  const scrolled = ({ currentTarget: it }) => {
    atEnd.current = it.scrollHeight - it.scrollTop - it.clientHeight < 24;
  };
  return (
    <>
      {dropped > 0 && (
        <p class="callout">
          The beginning is missing: {count(dropped)} events (output and calls) were more than the service keeps of a run.
        </p>
      )}
      {cut > 0 && <p class="callout">The beginning is missing: this page lets go of it, {count(cut)} characters so far.</p>}
      <div class="box output" ref={box} onScroll={scrolled} role="log" aria-label="Output" aria-busy={running} tabIndex={0}>
        <pre>{text ? lines(text) : running ? "" : "No output."}</pre>
      </div>
    </>
  );
}

const LOOK = { "+": "added", "-": "removed", "@": "place" };
// Only the first two lines name files: further down, what begins like that is a line that was added or removed.
const look = (line, place) => (place < 2 && /^(---|\+\+\+)/.test(line) ? "file" : LOOK[line[0]] || "");

/** A unified diff, as the service writes it. */
export const Diff = ({ text, label = "Changes" }) => (
  <Box label={label} className="diff">
    {text.split("\n").map((line, place) => (
      <div key={place} class={look(line, place)}>
        <code>{line || " "}</code>
      </div>
    ))}
  </Box>
);
