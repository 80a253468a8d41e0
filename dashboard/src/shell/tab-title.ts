// The title of the browser's tab: the page, and how many plans wait for a decision, so that a tab in the background shows it.
import { revealHidden } from "../text/visible-text.ts";

const title = { page: "", waiting: "" };

function write() {
  document.title = `${title.waiting && `(${title.waiting}) `}${revealHidden(title.page)} · Gristmill`;
}

export function setPageTitle(page: string) {
  title.page = page;
  write();
}

export function setWaitingCount(waiting: number | string | undefined) {
  title.waiting = waiting ? String(waiting) : "";
  if (title.page) write();
}
