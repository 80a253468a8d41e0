// Who we are to the service. The token stays in this tab and goes nowhere but to the service, as a header.
import { useState } from "preact/hooks";
import { token } from "../api.js";
import { Facts, Field, Header } from "../parts/basics.jsx";
import { useWho } from "../state.js";

export function Token({ changed, needed }) {
  const who = useWho();
  const [text, setText] = useState("");
  const use = (secret) => {
    token.set(secret.trim());
    setText("");
    changed();
  };
  return (
    <>
      <Header
        title={needed ? "A token, please" : "Token"}
        lead={needed ? "The service does not know who you are." : "Who you are to the service."}
      />
      {needed && token.get() && (
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
          use(text);
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
          Use it
        </button>
        {token.get() && (
          <button type="button" class="plain" onClick={() => use("")}>
            Forget it
          </button>
        )}
      </form>
      <p class="quiet">
        An operator makes one with <code>gristmill tokens create NAME --scope execute --scope read</code>; it is shown once.
      </p>
    </>
  );
}
