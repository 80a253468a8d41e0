// The page of one plan.
import { useState } from "preact/hooks";
import { get } from "../api/client.ts";
import type { Approval } from "../api/shapes.ts";
import { linkTo } from "../hooks/route.ts";
import { useLoad } from "../hooks/use-load.ts";
import { Loaded } from "../parts/loading.tsx";
import { Notice } from "../parts/notice.tsx";
import { Crumbs, Header } from "../parts/page-header.tsx";
import { shortenId } from "../text/format.ts";
import { CannotDecide, describeDecision } from "./decisions.tsx";
import { Plan } from "./plan.tsx";

export function ApprovalPage({ id }: { id: string }) {
  const found = useLoad((signal) => get("/approvals/{id}", { id }, signal), [id], { every: 4000 });
  const [notice, setNotice] = useState("");
  const onDecided = (approval: Approval) => {
    setNotice(describeDecision(approval));
    found.again();
  };
  return (
    <>
      <Crumbs>
        <a href={linkTo("approvals")}>Approvals</a>
      </Crumbs>
      <Header title={found.value ? `Plan of ${shortenId(found.value.execution)}` : "Plan"} />
      {found.value && <CannotDecide />}
      <Notice text={notice} />
      <Loaded of={found}>{(approval) => <Plan approval={approval} onDecided={onDecided} />}</Loaded>
    </>
  );
}
