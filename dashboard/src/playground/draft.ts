// The program that the playground begins with: the last one of this tab, or one that was sent here to be edited and run again.
import type { Execution } from "../api/shapes.ts";
import { linkTo } from "../hooks/route.ts";

const CODE = "gristmill.draft";
const AGAIN = "gristmill.again";

/** An execution whose program is edited and run again. */
export interface Again {
  id: string;
  session: string | null;
  /** Whether its answers can be used again: only its own caller may resume it. */
  isMine: boolean;
}

export const readDraft = () => sessionStorage.getItem(CODE);
export const keepDraft = (code: string) => sessionStorage.setItem(CODE, code);

export function readAgain(): Again | null {
  const text = sessionStorage.getItem(AGAIN);
  return text ? JSON.parse(text) : null;
}

export const forgetAgain = () => sessionStorage.removeItem(AGAIN);

/** Opens the playground with the program of an execution. */
export function editAgain({ id, code, session }: Execution, isMine: boolean) {
  keepDraft(code ?? "");
  sessionStorage.setItem(AGAIN, JSON.stringify({ id, session: session ?? null, isMine } satisfies Again));
  location.hash = linkTo("playground");
}
