// A link that signs its reader in, as `gristmill dashboard` makes it. It asks first: a link of a stranger would sign in as the stranger.
import { useEffect, useState } from "preact/hooks";
import { token } from "../api/token.ts";
import { Header } from "../parts/page-header.tsx";

export function SignInPage({ secret, onChange }: { secret: string; onChange: () => void }) {
  const [given] = useState(secret);
  // The token leaves the address bar and the history at once.
  useEffect(() => history.replaceState(null, "", "#/sign-in"), []);
  const enter = () => {
    token.set(given);
    location.hash = "#/";
    onChange();
  };
  return (
    <>
      <Header title="Sign in" lead="This link signs this tab in." />
      <p>
        Go on only if you made the link yourself, with <code>gristmill dashboard</code>: what you do here is then done in the name
        that it carries.
      </p>
      <p class="actions more">
        <button type="button" disabled={!given} onClick={enter}>
          Sign in
        </button>
        <a href="#/">Do not sign in</a>
      </p>
    </>
  );
}
