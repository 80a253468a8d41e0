// Code, output, JSON and differences. Long text scrolls in its own box, which the keyboard can reach.
import { useEffect, useRef } from "preact/hooks";
import { pretty } from "../words.js";

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

/** Output that grows: it follows its end, unless the reader has scrolled up. */
export function Output({ text, running }) {
  const box = useRef(null);
  const atEnd = useRef(true);
  useEffect(() => {
    if (box.current && atEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text]);
  const scrolled = ({ currentTarget: it }) => {
    atEnd.current = it.scrollHeight - it.scrollTop - it.clientHeight < 24;
  };
  return (
    <div class="box output" ref={box} onScroll={scrolled} role="log" aria-label="Output" aria-busy={running} tabIndex={0}>
      <pre>{text || (running ? "" : "No output.")}</pre>
    </div>
  );
}

const LOOK = { "+": "added", "-": "removed", "@": "place" };

/** A unified diff, as the service writes it. */
export const Diff = ({ text, label = "Changes" }) => (
  <Box label={label} className="diff">
    {text.split("\n").map((line, place) => (
      <div key={place} class={/^(---|\+\+\+)/.test(line) ? "file" : LOOK[line[0]] || ""}>
        <code>{line || " "}</code>
      </div>
    ))}
  </Box>
);
