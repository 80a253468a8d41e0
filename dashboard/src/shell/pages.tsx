// Which page an address shows.
import type { Who } from "../api/shapes.ts";
import { ApprovalPage } from "../approvals/approval-page.tsx";
import { ApprovalsPage } from "../approvals/approvals-page.tsx";
import { AuditPage } from "../audit/audit-page.tsx";
import { ChatPage, ConversationPage } from "../chat/chat-page.tsx";
import { ExecutionPage } from "../executions/execution-page.tsx";
import { ExecutionsPage } from "../executions/executions-page.tsx";
import { hasScope } from "../hooks/who.ts";
import { OverviewPage } from "../overview/overview-page.tsx";
import { Header } from "../parts/page-header.tsx";
import { PlaygroundPage } from "../playground/playground-page.tsx";
import { SessionPage } from "../sessions/session-page.tsx";
import { SessionsPage } from "../sessions/sessions-page.tsx";
import { SkillPage } from "../skills/skill-page.tsx";
import { SkillsPage } from "../skills/skills-page.tsx";
import { ServerPage } from "../tools/server-page.tsx";
import { ToolPage } from "../tools/tool-page.tsx";
import { ToolsPage } from "../tools/tools-page.tsx";

/** Returns the page for the words of an address. */
export function choosePage([first = "", second, third]: string[], who: Who) {
  switch (first) {
    case "":
      // A token that may only approve sees nothing on the first page, so it starts with the approvals.
      return hasScope(who, "execute", "read", "admin") ? <OverviewPage /> : <ApprovalsPage />;
    case "executions":
      return second ? <ExecutionPage key={second} id={second} /> : <ExecutionsPage />;
    case "playground":
      return <PlaygroundPage />;
    case "chat":
      return second ? <ConversationPage key={second} id={second} /> : <ChatPage key="new" />;
    case "tools":
      if (second && third) return <ToolPage server={second} name={third} />;
      return second ? <ServerPage name={second} /> : <ToolsPage />;
    case "sessions":
      return second ? <SessionPage name={second} /> : <SessionsPage />;
    case "skills":
      return second ? <SkillPage key={second} name={second} /> : <SkillsPage />;
    case "approvals":
      return second ? <ApprovalPage id={second} /> : <ApprovalsPage />;
    case "audit":
      return <AuditPage />;
    default:
      return <NoPage />;
  }
}

const NoPage = () => (
  <>
    <Header title="There is no such page" />
    <p>
      <a href="#/">Go to the first page.</a>
    </p>
  </>
);
