// Boxes for code, JSON, differences and other long text. Each box scrolls, and the keyboard can reach it.
import type { ComponentChildren } from "preact";
import { formatJson } from "../text/format.ts";

interface BoxProps {
  label: string;
  className?: string;
  children: ComponentChildren;
}

const Box = ({ label, children, className = "" }: BoxProps) => (
  <div class={`box ${className}`} role="group" aria-label={label} tabIndex={0}>
    {children}
  </div>
);

/** Code with line numbers; `marked` is the line that an error is about. */
export const Code = ({ text, label = "Code", marked = null }: { text: string; label?: string; marked?: number | null }) => (
  <Box label={label}>
    <ol class="code">
      {text
        .replace(/\n$/, "")
        .split("\n")
        .map((line, place) => (
          <li key={place} class={marked === place + 1 ? "marked" : ""}>
            <code>
              {line || " "}
              {marked === place + 1 && <span class="unseen"> (the error is here)</span>}
            </code>
          </li>
        ))}
    </ol>
  </Box>
);

export const Plain = ({ text, label, className }: { text: string; label: string; className?: string }) => (
  <Box label={label} className={className}>
    <pre>{text}</pre>
  </Box>
);

export const Json = ({ value, label }: { value: unknown; label: string }) => <Plain text={formatJson(value)} label={label} />;

const LOOKS: Record<string, string> = { "+": "added", "-": "removed", "@": "place" };
// Only the first two lines name files: further down, a line that begins like that was added or removed.
const findLook = (line: string, place: number) =>
  place < 2 && /^(---|\+\+\+)/.test(line) ? "file" : LOOKS[line.charAt(0)] || "";

/** A unified diff. */
export const Diff = ({ text, label = "Changes" }: { text: string; label?: string }) => (
  <Box label={label} className="diff">
    {text.split("\n").map((line, place) => (
      <div key={place} class={findLook(line, place)}>
        <code>{line || " "}</code>
      </div>
    ))}
  </Box>
);
