// The skills that the user can use: functions that code saved.
import { get } from "../api/client.ts";
import type { Skill, Who } from "../api/shapes.ts";
import { linkTo } from "../hooks/route.ts";
import { useLoad } from "../hooks/use-load.ts";
import { hasScope, useWho } from "../hooks/who.ts";
import { Empty } from "../parts/empty.tsx";
import { Loaded } from "../parts/loading.tsx";
import { Header } from "../parts/page-header.tsx";
import { Time } from "../parts/status.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Plain } from "../parts/text-boxes.tsx";
import { describeLevel } from "./levels.ts";

const COLUMNS: Column<Skill>[] = [
  {
    name: "Skill",
    cell: (row) => (
      <a class="named" href={linkTo("skills", row.name)}>
        {row.name}
      </a>
    ),
  },
  { name: "Version", right: true, tight: true, cell: (row) => row.version },
  { name: "Tested", tight: true, cell: (row) => (row.tested ? "yes" : "no") },
  { name: "For", wide: true, tight: true, cell: (row) => describeLevel(row.level) },
  { name: "Saved", wide: true, tight: true, cell: (row) => <Time at={row.created} /> },
  { name: "Requires", widest: true, cell: (row) => <span class="named">{row.requires.join(", ") || "–"}</span> },
];

const EXAMPLE =
  'from skills import save\n\ndef double(n: int) -> int:\n    """Twice a number."""\n    return n * 2\n\nsave(double, tests="assert double(2) == 4", level="user")';

export function SkillsPage() {
  const who = useWho();
  const list = useLoad((signal) => get("/skills", {}, signal), []);
  return (
    <>
      <Header
        title="Skills"
        lead="Functions that an agent saved to use again: yours and shared ones. Skills of one session are on the page of the session."
      />
      <Loaded of={list}>
        {(rows) =>
          rows.length ? (
            <Table caption="Skills" columns={COLUMNS} rows={rows} id={(row) => `${row.level} ${row.name}`} />
          ) : (
            <NoSkills who={who} />
          )
        }
      </Loaded>
    </>
  );
}

const NoSkills = ({ who }: { who: Who | null }) =>
  hasScope(who, "execute") ? (
    <Empty title="You have saved no skill yet, and none is shared.">
      <p>Code saves a function when it works, and any later program can import it:</p>
      <Plain text={EXAMPLE} label="Example" />
    </Empty>
  ) : (
    <Empty title="Your token shows no skill.">
      <p>
        It cannot save skills, and a skill of the level <code>user</code> is shown only to the caller who saved it. You would see
        shared skills, but there is none.
      </p>
    </Empty>
  );
