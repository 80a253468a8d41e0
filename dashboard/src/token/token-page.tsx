// The page of the token. The token is kept in this tab and sent only to the service, as a header.
import { useState } from "preact/hooks";
import { token } from "../api/token.ts";
import { useWho } from "../hooks/who.ts";
import { Facts } from "../parts/facts.tsx";
import { Field } from "../parts/fields.tsx";
import { Header } from "../parts/page-header.tsx";
import { WORDS } from "../text/words.ts";

interface TokenPageProps {
  /** Whether the service refused the last request without another token. */
  isNeeded: boolean;
  onChange: () => void;
}

export function TokenPage({ isNeeded, onChange }: TokenPageProps) {
  const who = useWho();
  const [text, setText] = useState("");
  const changeToken = (secret: string) => {
    token.set(secret.trim());
    setText("");
    onChange();
  };
  return (
    <>
      <Header
        title={isNeeded || !token.get() ? WORDS.signIn : "Signed in"}
        lead={isNeeded ? "The service does not know who you are." : "Who you are for the service."}
      />
      {isNeeded && token.get() && (
        <p class="failure" role="alert">
          This token is unknown, expired or revoked.
        </p>
      )}
      {who && (
        <Facts
          of={{
            Name: who.name,
            Tenant: who.tenant,
            Scopes: who.scopes.join(", ") || "none",
            Token: token.get() ? "yours" : "none, from this machine",
          }}
        />
      )}
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          changeToken(text);
        }}
      >
        <Field label="Token" hint="kept in this tab until it is closed">
          <input
            type="password"
            value={text}
            autocomplete="off"
            spellcheck={false}
            placeholder="gm_…"
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </Field>
        <button type="submit" disabled={!text.trim()}>
          {WORDS.signIn}
        </button>
        {token.get() && (
          <button type="button" class="plain" onClick={() => changeToken("")}>
            {WORDS.signOut}
          </button>
        )}
      </form>
      <p class="quiet">
        An operator makes one with <code>gristmill tokens create NAME --scope execute --scope read</code>; it is shown once.
      </p>
    </>
  );
}
