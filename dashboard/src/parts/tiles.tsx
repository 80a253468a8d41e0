// Numbers that a reader wants at a glance.
import type { ComponentChildren } from "preact";

interface TileProps {
  label: string;
  value: string;
  note?: string;
  /** A style class. */
  tone?: string;
  /** Where the rows are that the number counts. */
  href?: string;
}

export const Tile = ({ label, value, note, tone, href }: TileProps) => (
  <div class={`tile ${tone || ""}`}>
    <dt>{label}</dt>
    <dd>
      {href ? (
        <a class="value" href={href}>
          {value}
        </a>
      ) : (
        <span class="value">{value}</span>
      )}
      {note && <span class="note">{note}</span>}
    </dd>
  </div>
);

export const Tiles = ({ children }: { children: ComponentChildren }) => <dl class="tiles">{children}</dl>;
