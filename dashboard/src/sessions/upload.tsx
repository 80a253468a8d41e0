// Uploads files into a workspace. A file that exists is replaced only after the user confirms it.
import { useRef, useState } from "preact/hooks";
import { get, upload } from "../api/client.ts";
import type { FilePage, WorkspaceFile } from "../api/shapes.ts";
import { type Action, useAction } from "../hooks/use-action.ts";
import { Field } from "../parts/fields.tsx";
import { Failure } from "../parts/loading.tsx";
import { Notice } from "../parts/notice.tsx";
import { pluralize } from "../text/format.ts";

const [PAGE, PAGES] = [1000, 100];

/** Finds out which of these names exist. The listing is read page by page. */
async function findExisting(session: string, names: string[]) {
  const wanted = new Set(names);
  const found: WorkspaceFile[] = [];
  let after: string | null = "";
  for (let pages = 0; after !== null && pages < PAGES; pages += 1) {
    const page: FilePage = await get("/sessions/{id}/files", { id: session, limit: PAGE, after });
    found.push(...page.files.filter((file) => wanted.has(file.path)));
    after = page.next ?? null;
  }
  return found;
}

interface Clash {
  files: File[];
  /** The names that exist. */
  names: string[];
}

/** `session` is an id. */
export function Upload({ session, onDone }: { session: string; onDone: () => void }) {
  const input = useRef<HTMLInputElement>(null);
  const [clash, setClash] = useState<Clash | null>(null);
  const [notice, setNotice] = useState("");
  const finish = (text: string) => {
    setClash(null);
    setNotice(text);
    if (input.current) input.current.value = "";
  };
  const sendFiles = async (files: File[]) => {
    for (const file of files) {
      await upload("/sessions/{id}/files/{path}", { id: session, path: file.name }, file);
    }
    finish(`Uploaded: ${files.map((file) => file.name).join(", ")}.`);
    onDone();
  };
  const offer = useAction(async () => {
    const files = [...(input.current?.files ?? [])];
    setNotice("");
    const existing = await findExisting(
      session,
      files.map((file) => file.name),
    );
    if (existing.length) setClash({ files, names: existing.map((file) => file.path) });
    else await sendFiles(files);
  });
  const replace = useAction(async () => clash && sendFiles(clash.files));
  return (
    <>
      <Field label="Upload" hint="into the working directory of the code">
        <input type="file" multiple ref={input} disabled={offer.busy || replace.busy} onChange={() => offer.run()} />
      </Field>
      {clash && <ClashDialog names={clash.names} keep={() => finish("Nothing was uploaded.")} replace={replace} />}
      <Notice text={notice} />
      <Failure error={offer.error || replace.error} />
    </>
  );
}

interface ClashDialogProps {
  names: string[];
  keep: () => void;
  replace: Action<[]>;
}

const ClashDialog = ({ names, keep, replace }: ClashDialogProps) => (
  <div class="callout" role="alertdialog" aria-label="Replace?" onKeyDown={(event) => event.key === "Escape" && keep()}>
    <p>
      {pluralize(names.length, "file")} with {names.length === 1 ? "this name exists" : "these names exist"} already:{" "}
      <span class="file-path">{names.join(", ")}</span>
    </p>
    <p class="actions">
      <button type="button" class="plain" ref={(button) => button?.focus()} onClick={keep}>
        Keep
      </button>
      <button type="button" class="danger" aria-busy={replace.busy} onClick={() => replace.run()}>
        Replace
      </button>
    </p>
  </div>
);
