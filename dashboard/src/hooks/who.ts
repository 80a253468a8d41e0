// Who the user is for the service, and what that allows.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Scope, Who } from "../api/shapes.ts";

export const WhoContext = createContext<Who | null>(null);
export const useWho = () => useContext(WhoContext);

/** Whether the user has one of these scopes. */
export const hasScope = (who: Who | null, ...scopes: Scope[]) =>
  Boolean(who) && scopes.some((scope) => who?.scopes.includes(scope));

/** Whether the user sees what only its owner `caller` and an admin may see. */
export const ownsOrAdmins = (who: Who | null, caller: string | null | undefined) =>
  hasScope(who, "admin") || Boolean(who && caller && caller === who.caller);
