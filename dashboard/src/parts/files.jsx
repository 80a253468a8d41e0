// The files of one workspace. What is in them was written by code: it is shown as text or handed over, never rendered.
import { useState } from "preact/hooks";
import { get, path, put, query, raw, remove } from "../api.js";
import { useAction, useLoad } from "../state.js";
import { bytes } from "../words.js";
import { Empty, Failure, Field, Loaded, Sure, Time } from "./basics.jsx";
import { Table } from "./table.jsx";
import { Plain } from "./text.jsx";

const SHOWN = 64_000; // bytes of a file that are shown
const TEXT = /^(text\/|application\/(json|xml|javascript|x-sh|toml|yaml|x-yaml|sql|x-ndjson))/;
const isText = (file) => TEXT.test(file.mime) || /\.(md|csv|tsv|log|toml|ya?ml|jsonl?|py|txt|ini|cfg)$/i.test(file.path);
const address = (session, file) => `sessions/${path(session)}/files/${path(...file.split("/"))}`;

export function Files({ session, mayChange }) {
  const [after, setAfter] = useState("");
  const list = useLoad(
    (signal) => get(`sessions/${path(session)}/files${query({ limit: 200, after })}`, signal),
    [session, after],
  );
  const [shown, setShown] = useState(null);
  const view = useAction(async (file) => setShown({ path: file.path, text: await beginning(address(session, file.path)) }));
  const keep = useAction((file) => download(address(session, file.path), file.path));
  const drop = useAction(async (file) => {
    await remove(address(session, file.path));
    list.again();
  });
  const columns = [
    {
      name: "Path",
      cell: (file) => (
        <span class="file-path">
          {file.path}
          {file.kind === "folder" && "/"}
        </span>
      ),
    },
    { name: "Size", right: true, cell: (file) => (file.kind === "file" ? bytes(file.size) : "–") },
    { name: "Changed", wide: true, cell: (file) => <Time at={file.changed} /> },
    {
      name: "Actions",
      cell: (file) => (
        <span class="actions">
          {file.kind === "file" && isText(file) && (
            <button type="button" class="plain" onClick={() => view.run(file)} aria-label={`View ${file.path}`}>
              View
            </button>
          )}
          {file.kind === "file" && (
            <button type="button" class="plain" onClick={() => keep.run(file)} aria-label={`Download ${file.path}`}>
              Download
            </button>
          )}
          {mayChange && <Sure label="Delete" ask={`Delete ${file.path}`} onConfirm={() => drop.run(file)} />}
        </span>
      ),
    },
  ];
  return (
    <section aria-labelledby="files">
      <h2 id="files">Files</h2>
      <Failure error={view.error || keep.error || drop.error} />
      <Loaded of={list}>
        {(page) => (
          <>
            {page.files.length ? (
              <Table caption="Files" columns={columns} rows={page.files} id={(file) => file.path} />
            ) : (
              <Empty title="The workspace is empty.">
                <p>Whatever code writes to its working directory is here, and what you upload is there for the code.</p>
              </Empty>
            )}
            <p class="actions">
              {after && (
                <button type="button" class="plain" onClick={() => setAfter("")}>
                  First
                </button>
              )}
              {page.next && (
                <button type="button" class="plain" onClick={() => setAfter(page.next)}>
                  Next
                </button>
              )}
            </p>
          </>
        )}
      </Loaded>
      {mayChange && <Upload session={session} done={list.again} />}
      {shown && (
        <section aria-live="polite">
          <h3>{shown.path}</h3>
          <Plain text={shown.text || "It is empty."} label={shown.path} />
        </section>
      )}
    </section>
  );
}

function Upload({ session, done }) {
  const upload = useAction(async (event) => {
    const input = event.currentTarget;
    for (const file of input.files) await put(address(session, file.name), file);
    input.value = "";
    done();
  });
  return (
    <>
      <Field label="Upload">
        <input type="file" multiple disabled={upload.busy} onChange={upload.run} />
      </Field>
      <Failure error={upload.error} />
    </>
  );
}

/** As much of a file as is shown; the rest is not even fetched. */
async function beginning(where) {
  const stop = new AbortController();
  const reader = (await raw(where, stop.signal)).body.getReader();
  const decoder = new TextDecoder();
  let [text, size] = ["", 0];
  while (size < SHOWN) {
    const { done, value } = await reader.read();
    if (done) return text;
    size += value.length;
    text += decoder.decode(value, { stream: true });
  }
  stop.abort();
  return `${text.slice(0, SHOWN)}\n… (the rest is not shown)`;
}

async function download(where, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await (await raw(where)).blob());
  link.download = name.split("/").at(-1);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
