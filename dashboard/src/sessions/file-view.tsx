// One file in a dialog over the page. The browser moves the focus into it and back, and closes it with Escape.
import { useEffect, useId, useRef } from "preact/hooks";
import { download } from "../api/client.ts";
import { useLoad } from "../hooks/use-load.ts";
import { Loaded } from "../parts/loading.tsx";
import { Plain } from "../parts/text-boxes.tsx";

const SHOWN = 64_000; // bytes of a file that are shown

interface FileViewProps {
  /** The id of a session. */
  session: string;
  path: string;
  onClose: () => void;
}

export function FileView({ session, path, onClose }: FileViewProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const text = useLoad((signal) => loadBeginning(session, path, signal), [session, path]);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog class="view" ref={dialog} aria-labelledby={id} onClose={onClose}>
      <div class="head">
        <h2 id={id}>{path}</h2>
        <button type="button" class="plain" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
      <Loaded of={text}>
        {(found) => (
          <>
            <Plain text={found.text || "It is empty."} label={path} />
            {found.isCut && <p class="quiet">The rest is not shown: download it.</p>}
          </>
        )}
      </Loaded>
    </dialog>
  );
}

/** Loads as much of a file as is shown; the rest is not loaded. */
async function loadBeginning(session: string, path: string, signal: AbortSignal) {
  const stop = new AbortController();
  const given = { id: session, path };
  const answer = await download("/sessions/{id}/files/{path}", given, AbortSignal.any([signal, stop.signal]));
  const reader = answer.body?.getReader();
  const decoder = new TextDecoder();
  let [text, size] = ["", 0];
  while (size < SHOWN) {
    const part = await reader?.read();
    if (!part || part.done) return { text, isCut: false };
    size += part.value.length;
    text += decoder.decode(part.value, { stream: true });
  }
  stop.abort();
  return { text: text.slice(0, SHOWN), isCut: true };
}
