// The name of a session.
import { linkTo } from "../hooks/route.ts";
import { ownsOrAdmins, useWho } from "../hooks/who.ts";

type Maybe = string | null | undefined;

/** A link for its caller and for admins, who can open the session; plain text for others. */
export function SessionName({ name, caller }: { name: Maybe; caller: Maybe }) {
  const who = useWho();
  if (!name) return <span class="quiet">none</span>;
  return ownsOrAdmins(who, caller) ? (
    <a class="named" href={linkTo("sessions", name)}>
      {name}
    </a>
  ) : (
    <span class="named" title="Its caller and an admin can open it.">
      {name}
    </span>
  );
}
