// The navigation: the name, the links to the pages, and who the user is.
import type { TargetedKeyboardEvent } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Who } from "../api/shapes.ts";
import { token } from "../api/token.ts";
import { linkTo } from "../hooks/route.ts";
import { timeZone } from "../text/format.ts";
import { WORDS } from "../text/words.ts";
import { PAGES } from "./page-names.ts";
import { Palette } from "./palette.tsx";
import { WaitingPlans } from "./waiting-plans.tsx";

export function Navigation({ here, who }: { here: string; who: Who | undefined }) {
  const [isOpen, setOpen] = useState(false);
  const menu = useRef<HTMLButtonElement>(null);
  const close = () => setOpen(false);
  useEffect(() => {
    addEventListener("hashchange", close);
    return () => removeEventListener("hashchange", close);
  }, []);
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLElement>) => {
    if (event.key !== "Escape" || !isOpen) return;
    close();
    menu.current?.focus();
  };
  return (
    <header class="side" onKeyDown={onKeyDown}>
      <a class="name" href="#/" onClick={close}>
        Gristmill
      </a>
      <button
        type="button"
        class="menu plain"
        ref={menu}
        aria-expanded={isOpen}
        aria-controls="nav"
        onClick={() => setOpen(!isOpen)}
      >
        Menu
      </button>
      <Palette who={who} />
      <nav id="nav" class={isOpen ? "open" : ""} aria-label="Pages">
        <ul>
          {PAGES.map(([name, title]) => (
            <li key={name}>
              <a href={name ? linkTo(name) : "#/"} aria-current={here === name ? "page" : undefined} onClick={close}>
                {title} {name === "approvals" && who && <WaitingPlans />}
              </a>
            </li>
          ))}
        </ul>
        {who && (
          <p class="who">
            <span>
              You are {who.name}, of the tenant {who.tenant}.
            </span>
            <a href={linkTo("token")} onClick={close}>
              {token.get() ? WORDS.signOut : WORDS.signIn}
            </a>
            <span>
              version {who.version}, {who.isolation}
            </span>
            <span>Times are in the time zone {timeZone}.</span>
          </p>
        )}
      </nav>
    </header>
  );
}
