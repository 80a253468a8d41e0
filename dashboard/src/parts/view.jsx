// One file, over the page: the browser moves the focus in, back out again, and closes it with Escape.
import { useEffect, useId, useRef } from "preact/hooks";
import { raw } from "../api.js";
import { useLoad } from "../state.js";
import { Loaded } from "./basics.jsx";
import { Plain } from "./text.jsx";

const SHOWN = 64_000; // bytes of a file that are shown

export function View({ where, name, close }) {
  const dialog = useRef(null);
  const id = useId();
  const text = useLoad((signal) => beginning(where, signal), [where]);
  useEffect(() => dialog.current.showModal(), []);
  return (
    <dialog class="view" ref={dialog} aria-labelledby={id} onClose={close}>
      <div class="head">
        <h2 id={id}>{name}</h2>
        <button type="button" class="plain" onClick={() => dialog.current.close()}>
          Close
        </button>
      </div>
      <Loaded of={text}>
        {(found) => (
          <>
            <Plain text={found.text || "It is empty."} label={name} />
            {found.isCut && <p class="quiet">The rest is not shown: download it.</p>}
          </>
        )}
      </Loaded>
    </dialog>
  );
}

/** As much of a file as is shown; the rest is not even fetched. */
async function beginning(where, signal) {
  const stop = new AbortController();
  const reader = (await raw(where, AbortSignal.any([signal, stop.signal]))).body.getReader();
  const decoder = new TextDecoder();
  let [text, size] = ["", 0];
  while (size < SHOWN) {
    const { done, value } = await reader.read();
    if (done) return { text, isCut: false };
    size += value.length;
    text += decoder.decode(value, { stream: true });
  }
  stop.abort();
  return { text: text.slice(0, SHOWN), isCut: true };
}
