// The rules that were made while approving, to look at and to revoke.
import { get, remove } from "../api/client.ts";
import type { StandingRule } from "../api/shapes.ts";
import { useAction } from "../hooks/use-action.ts";
import { useLoad } from "../hooks/use-load.ts";
import { hasScope, useWho } from "../hooks/who.ts";
import { ConfirmButton } from "../parts/confirm-button.tsx";
import { Failure } from "../parts/loading.tsx";
import { Time } from "../parts/status.tsx";
import { type Column, Table } from "../parts/table.tsx";

export function StandingRules({ round }: { round: number }) {
  const who = useWho();
  const list = useLoad((signal) => get("/approval-rules", {}, signal), [], { round });
  const revoke = useAction(async (id: string) => {
    await remove("/approval-rules/{id}", { id });
    list.again();
  });
  const mayRevoke = hasScope(who, "approve");
  const columns: Column<StandingRule>[] = [
    { name: "Rule", cell: (row) => <span class="named">{row.text}</span> },
    { name: "Made by", wide: true, cell: (row) => <span class="named">{row.made_by}</span> },
    { name: "Made", wide: true, tight: true, cell: (row) => <Time at={row.created} /> },
    {
      name: "Revoke",
      tight: true,
      cell: (row) =>
        mayRevoke && <ConfirmButton label="Revoke" ask="Revoke it" about={row.text} onConfirm={() => void revoke.run(row.id)} />,
    },
  ];
  if (!list.value?.length) return <Failure error={list.error} again={list.again} />;
  return (
    <section aria-labelledby="rules">
      <h2 id="rules">Always allowed</h2>
      <Failure error={revoke.error} />
      <Table caption="Rules made while approving" columns={columns} rows={list.value} id={(row) => row.id} stacks />
    </section>
  );
}
