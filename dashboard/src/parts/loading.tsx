// What a component shows while something is loaded, and if that fails.
import type { ComponentChildren } from "preact";
import type { Trouble } from "../api/errors.ts";
import { linkTo } from "../hooks/route.ts";
import type { Load } from "../hooks/use-load.ts";

const toSentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?:…]$/.test(text) ? "" : ".");

interface FailureProps {
  error: Trouble | false | null;
  /** Tries again, if that may help. */
  again?: () => void;
}

/** Says what went wrong, and offers what may help. */
export const Failure = ({ error, again }: FailureProps) =>
  error ? (
    <div class="failure" role="alert">
      <p>
        {toSentence(error.message)} {error.code && <small>({error.code})</small>}
      </p>
      {error.status === 403 && <a href={linkTo("token")}>Use another token</a>}
      {again && error.status !== 403 && error.status !== 404 && (
        <button type="button" class="plain" onClick={again}>
          Try again
        </button>
      )}
    </div>
  ) : null;

export const Loading = () => (
  <p class="quiet" aria-busy="true">
    Loading …
  </p>
);

interface LoadedProps<T> {
  of: Load<T>;
  children: (value: T) => ComponentChildren;
}

/** Shows a value once it is loaded; before that, that it is loading or why it cannot be loaded. */
export function Loaded<T>({ of: { value, error, again }, children }: LoadedProps<T>) {
  const failure = <Failure error={error} again={again} />;
  if (value === undefined) return error ? failure : <Loading />;
  return (
    <>
      {failure}
      {children(value)}
    </>
  );
}
