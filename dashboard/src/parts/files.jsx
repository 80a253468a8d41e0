// The files of one workspace. What is in them was written by code: it is shown as text or handed over, never rendered.
import { useState } from "preact/hooks";
import { fileOf, get, path, query, raw, remove } from "../api.js";
import { useAction, useLoad } from "../state.js";
import { bytes } from "../words.js";
import { Empty, Failure, Loaded, Time } from "./basics.jsx";
import { Said, Sure } from "./sure.jsx";
import { Table } from "./table.jsx";
import { Upload } from "./upload.jsx";
import { View } from "./view.jsx";

const TEXT = /^(text\/|application\/(json|xml|javascript|x-sh|toml|yaml|x-yaml|sql|x-ndjson))/;
const isText = (file) => TEXT.test(file.mime) || /\.(md|csv|tsv|log|toml|ya?ml|jsonl?|py|txt|ini|cfg)$/i.test(file.path);

export function Files({ session, mayChange }) {
  const [after, setAfter] = useState("");
  const list = useLoad(
    (signal) => get(`sessions/${path(session)}/files${query({ limit: 200, after })}`, signal),
    [session, after],
  );
  const [viewed, setViewed] = useState(null);
  const [said, setSaid] = useState("");
  const keep = useAction((file) => download(fileOf(session, file.path), file.path));
  const drop = useAction(async (file) => {
    await remove(fileOf(session, file.path));
    setSaid(`${file.path} is deleted.`);
    list.again();
  });
  const columns = [
    { name: "Path", cell: (file) => <Path file={file} /> },
    { name: "Size", right: true, tight: true, cell: (file) => (file.kind === "file" ? bytes(file.size) : "–") },
    { name: "Changed", wide: true, tight: true, cell: (file) => <Time at={file.changed} /> },
    {
      name: "Actions",
      tight: true,
      cell: (file) => (
        <span class="actions">
          {file.kind === "file" && isText(file) && <Act label="View" file={file} act={() => setViewed(file)} />}
          {file.kind === "file" && <Act label="Download" file={file} act={() => keep.run(file)} />}
          {mayChange && (
            <Sure
              label="Delete"
              ask={file.kind === "folder" ? "Delete it with everything in it" : "Delete it"}
              about={file.path}
              onConfirm={() => drop.run(file)}
            />
          )}
        </span>
      ),
    },
  ];
  return (
    <section aria-labelledby="files">
      <h2 id="files">Files</h2>
      <Said text={said} />
      <Failure error={keep.error || drop.error} />
      <Loaded of={list}>
        {(page) => (
          <>
            {page.files.length ? (
              <Table stacks caption="Files" columns={columns} rows={page.files} id={(file) => file.path} />
            ) : (
              <Empty title={after ? "There are no more files." : "The workspace is empty."}>
                <p>Whatever code writes to its working directory is here, and what you upload is there for the code.</p>
              </Empty>
            )}
            {page.truncated && <p class="callout">There are more files than the service lists.</p>}
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
      {viewed && <View where={fileOf(session, viewed.path)} name={viewed.path} close={() => setViewed(null)} />}
    </section>
  );
}

const Path = ({ file }) => (
  <span class="file-path">
    {file.path}
    {file.kind === "folder" && "/"}
  </span>
);

const Act = ({ label, file, act }) => (
  <button type="button" class="plain" onClick={act} aria-label={`${label} ${file.path}`}>
    {label}
  </button>
);

async function download(where, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await (await raw(where)).blob());
  link.download = name.split("/").at(-1);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
