// Says that there is nothing to show, why, and what would change that.
import type { ComponentChildren } from "preact";

export const Empty = ({ title, children }: { title: string; children?: ComponentChildren }) => (
  <div class="empty">
    <p class="empty-title">{title}</p>
    {children}
  </div>
);
