// Runs what a click starts.
import { useEffect, useRef, useState } from "preact/hooks";
import { useConnection } from "../api/connection.ts";
import { Lost, type Trouble, toTrouble } from "../api/errors.ts";

export interface Action<A extends unknown[]> {
  busy: boolean;
  error: Trouble | null;
  run: (...given: A) => Promise<void>;
}

/**
 * Says whether the action is under way, and what went wrong. While it is under way a second click does nothing. The button is not
 * disabled meanwhile, because a button that is disabled loses the focus.
 */
export function useAction<A extends unknown[]>(act: (...given: A) => Promise<unknown>): Action<A> {
  const [state, setState] = useState<{ busy: boolean; error: Trouble | null }>({ busy: false, error: null });
  const { back } = useConnection();
  const isBusy = useRef(false);
  // When the service answers again, the error that it did not is removed.
  useEffect(() => setState((old) => (old.error instanceof Lost ? { ...old, error: null } : old)), [back]);
  const run = async (...given: A) => {
    if (isBusy.current) return;
    isBusy.current = true;
    setState({ busy: true, error: null });
    try {
      await act(...given);
      setState({ busy: false, error: null });
    } catch (error) {
      setState({ busy: false, error: toTrouble(error) });
    } finally {
      isBusy.current = false;
    }
  };
  return { ...state, run };
}
