// The files of one workspace. Code wrote them, so they are shown as text or downloaded, never rendered.
import { useState } from "preact/hooks";
import { download, get, remove } from "../api/client.ts";
import type { WorkspaceFile } from "../api/shapes.ts";
import { useAction } from "../hooks/use-action.ts";
import { useLoad } from "../hooks/use-load.ts";
import { ConfirmButton } from "../parts/confirm-button.tsx";
import { Empty } from "../parts/empty.tsx";
import { Failure, Loaded } from "../parts/loading.tsx";
import { Notice } from "../parts/notice.tsx";
import { Time } from "../parts/status.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { formatBytes } from "../text/format.ts";
import { FileView } from "./file-view.tsx";
import { Upload } from "./upload.tsx";

const PAGE = 200;
const TEXT = /^(text\/|application\/(json|xml|javascript|x-sh|toml|yaml|x-yaml|sql|x-ndjson))/;
const isText = (file: WorkspaceFile) =>
  TEXT.test(file.mime) || /\.(md|csv|tsv|log|toml|ya?ml|jsonl?|py|txt|ini|cfg)$/i.test(file.path);

/** `session` is an id. */
export function Files({ session, mayChange }: { session: string; mayChange: boolean }) {
  const [after, setAfter] = useState("");
  const list = useLoad((signal) => get("/sessions/{id}/files", { id: session, limit: PAGE, after }, signal), [session, after]);
  const [viewed, setViewed] = useState<string | null>(null);
  const [notice, setNotice] = useState("");
  const save = useAction((path: string) => saveFile(session, path));
  const drop = useAction(async (path: string) => {
    await remove("/sessions/{id}/files/{path}", { id: session, path });
    setNotice(`${path} is deleted.`);
    list.again();
  });
  const columns: Column<WorkspaceFile>[] = [
    { name: "Path", cell: (file) => <Path file={file} /> },
    { name: "Size", right: true, tight: true, cell: (file) => (file.kind === "file" ? formatBytes(file.size) : "–") },
    { name: "Changed", wide: true, tight: true, cell: (file) => <Time at={file.changed} /> },
    {
      name: "Actions",
      tight: true,
      cell: (file) => (
        <span class="actions">
          {file.kind === "file" && isText(file) && (
            <FileButton label="View" path={file.path} onClick={() => setViewed(file.path)} />
          )}
          {file.kind === "file" && <FileButton label="Download" path={file.path} onClick={() => save.run(file.path)} />}
          {mayChange && (
            <ConfirmButton
              label="Delete"
              ask={file.kind === "folder" ? "Delete it with everything in it" : "Delete it"}
              about={file.path}
              onConfirm={() => drop.run(file.path)}
            />
          )}
        </span>
      ),
    },
  ];
  return (
    <section aria-labelledby="files">
      <h2 id="files">Files</h2>
      <Notice text={notice} />
      <Failure error={save.error || drop.error} />
      <Loaded of={list}>
        {({ files, next, truncated }) => (
          <>
            {files.length ? (
              <Table stacks caption="Files" columns={columns} rows={files} id={(file) => file.path} />
            ) : (
              <NoFiles isLater={Boolean(after)} />
            )}
            {truncated && <p class="callout">There are more files than the service lists.</p>}
            <p class="actions">
              {after && <PageButton label="First" onClick={() => setAfter("")} />}
              {next && <PageButton label="Next" onClick={() => setAfter(next)} />}
            </p>
          </>
        )}
      </Loaded>
      {mayChange && <Upload session={session} onDone={list.again} />}
      {viewed && <FileView session={session} path={viewed} onClose={() => setViewed(null)} />}
    </section>
  );
}

const NoFiles = ({ isLater }: { isLater: boolean }) => (
  <Empty title={isLater ? "There are no more files." : "The workspace is empty."}>
    <p>Files that code writes to its working directory are listed here, and code can read the files that you upload.</p>
  </Empty>
);

const Path = ({ file }: { file: WorkspaceFile }) => (
  <span class="file-path">
    {file.path}
    {file.kind === "folder" && "/"}
  </span>
);

const FileButton = ({ label, path, onClick }: { label: string; path: string; onClick: () => void }) => (
  <button type="button" class="plain" onClick={onClick} aria-label={`${label} ${path}`}>
    {label}
  </button>
);

const PageButton = ({ label, onClick }: { label: string; onClick: () => void }) => (
  <button type="button" class="plain" onClick={onClick}>
    {label}
  </button>
);

const REVOKE_AFTER = 10_000; // milliseconds: by then the browser has started to save the file

async function saveFile(session: string, path: string) {
  const answer = await download("/sessions/{id}/files/{path}", { id: session, path });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = path.slice(path.lastIndexOf("/") + 1);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), REVOKE_AFTER);
}
