// The conversations of the user.
import { get } from "../api/client.ts";
import type { Conversation } from "../api/shapes.ts";
import { linkTo } from "../hooks/route.ts";
import { useLoad } from "../hooks/use-load.ts";
import { Empty } from "../parts/empty.tsx";
import { Loaded } from "../parts/loading.tsx";
import { Status, Time } from "../parts/status.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { formatCompact, formatCount } from "../text/format.ts";

const MOST = 100;

const COLUMNS: Column<Conversation>[] = [
  {
    name: "Begins with",
    cell: (row) => (
      <a class="named" href={linkTo("chat", row.id)}>
        {row.title || row.id}
      </a>
    ),
  },
  { name: "Last used", tight: true, cell: (row) => <Time at={row.used} /> },
  { name: "Turns", right: true, tight: true, cell: (row) => formatCount(row.turns) },
  { name: "State", tight: true, cell: (row) => <Status value={row.standing} /> },
  { name: "Tokens in", right: true, tight: true, wide: true, cell: (row) => formatCompact(row.usage.input_tokens) },
  { name: "Model", wide: true, cell: (row) => <span class="named">{row.model}</span> },
];

export function Conversations() {
  const list = useLoad((signal) => get("/chat/conversations", { limit: MOST }, signal), [], { every: 10_000 });
  return (
    <section aria-labelledby="conversations">
      <h2 id="conversations">Conversations</h2>
      <Loaded of={list}>
        {(rows) =>
          rows.length ? (
            <Table caption="Conversations" columns={COLUMNS} rows={rows} id={(row) => row.id} />
          ) : (
            <Empty title="You have no conversation.">
              <p>Your first message begins one. It is kept, with the files that its programs write.</p>
            </Empty>
          )
        }
      </Loaded>
      {list.value?.length === MOST && <p class="quiet">These are the {MOST} that were used last.</p>}
    </section>
  );
}
