// The top of a page: the way back, the title, and buttons.
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { setPageTitle } from "../shell/tab-title.ts";

interface HeaderProps {
  title: string;
  /** The title of the browser's tab, if it differs. */
  tab?: string;
  lead?: ComponentChildren;
  /** Buttons. */
  children?: ComponentChildren;
}

export function Header({ title, tab = title, lead, children }: HeaderProps) {
  useEffect(() => {
    setPageTitle(tab);
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

export const Crumbs = ({ children }: { children: ComponentChildren }) => <p class="crumbs">{children}</p>;
