// Files that a person puts into a workspace. One that is there already is replaced only when that was said.
import { useRef, useState } from "preact/hooks";
import { fileOf, get, path, put, query } from "../api.js";
import { useAction } from "../state.js";
import { many } from "../words.js";
import { Failure, Field } from "./basics.jsx";
import { Said } from "./sure.jsx";

const [PAGE, PAGES] = [1000, 100];

/** Which of these names are taken: the listing is in the order of paths, and it is read as far as need be. */
async function taken(session, names) {
  const [wanted, found] = [new Set(names), []];
  for (let [after, pages] = ["", 0]; after !== null && pages < PAGES; pages += 1) {
    const page = await get(`sessions/${path(session)}/files${query({ limit: PAGE, after })}`);
    found.push(...page.files.filter((file) => wanted.has(file.path)));
    after = page.next ?? null;
  }
  return found;
}

export function Upload({ session, done }) {
  const input = useRef(null);
  const [clash, setClash] = useState(null);
  const [said, setSaid] = useState("");
  const over = (text) => {
    setClash(null);
    setSaid(text);
    input.current.value = "";
  };
  const send = async (files) => {
    for (const file of files) await put(fileOf(session, file.name), file);
    over(`Uploaded: ${files.map((file) => file.name).join(", ")}.`);
    done();
  };
  const offer = useAction(async () => {
    const files = [...input.current.files];
    setSaid("");
    const same = await taken(
      session,
      files.map((file) => file.name),
    );
    if (!same.length) return send(files);
    return setClash({ files, names: same.map((file) => file.path) });
  });
  const replace = useAction(() => send(clash.files));
  return (
    <>
      <Field label="Upload" hint="into the working directory of the code">
        <input type="file" multiple ref={input} disabled={offer.busy || replace.busy} onChange={offer.run} />
      </Field>
      {clash && <Clash clash={clash} keep={() => over("Nothing was uploaded.")} replace={replace} />}
      <Said text={said} />
      <Failure error={offer.error || replace.error} />
    </>
  );
}

const Clash = ({ clash, keep, replace }) => (
  <div class="callout" role="alertdialog" aria-label="Replace?" onKeyDown={(event) => event.key === "Escape" && keep()}>
    <p>
      {many(clash.names.length, "file")} of that name {clash.names.length === 1 ? "is" : "are"} there already:{" "}
      <span class="file-path">{clash.names.join(", ")}</span>
    </p>
    <p class="actions">
      <button type="button" class="plain" ref={(button) => button?.focus()} onClick={keep}>
        Keep
      </button>
      <button type="button" class="danger" aria-busy={replace.busy} onClick={replace.run}>
        Replace
      </button>
    </p>
  </div>
);
