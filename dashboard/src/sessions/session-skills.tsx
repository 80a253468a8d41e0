// The skills that only code of one session can use. The other skills have their own page.
import { get } from "../api/client.ts";
import type { Skill } from "../api/shapes.ts";
import { linkTo, withFilters } from "../hooks/route.ts";
import { useLoad } from "../hooks/use-load.ts";
import { Loaded } from "../parts/loading.tsx";
import { Time } from "../parts/status.tsx";
import { type Column, Table } from "../parts/table.tsx";

const listColumns = (session: string): Column<Skill>[] => [
  {
    name: "Skill",
    cell: (row) => (
      <a class="named" href={withFilters(linkTo("skills", row.name), { session })}>
        {row.name}
      </a>
    ),
  },
  { name: "Version", right: true, tight: true, cell: (row) => row.version },
  { name: "Tested", tight: true, cell: (row) => (row.tested ? "yes" : "no") },
  { name: "Saved", wide: true, tight: true, cell: (row) => <Time at={row.created} /> },
];

/** `session` is an id. */
export function SessionSkills({ session }: { session: string }) {
  const list = useLoad((signal) => get("/skills", { session }, signal), [session]);
  return (
    <section aria-labelledby="skills">
      <h2 id="skills">Skills of this session</h2>
      <Loaded of={list}>
        {(all) => {
          const rows = all.filter((skill) => skill.level === "session");
          return rows.length ? (
            <Table caption="Skills of this session" columns={listColumns(session)} rows={rows} id={(row) => row.name} />
          ) : (
            <p class="quiet">
              None: code saves one here with <code>save(function, level="session")</code>.
            </p>
          );
        }}
      </Loaded>
    </section>
  );
}
