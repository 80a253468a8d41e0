// Short names for the shapes of the OpenAPI document. `api.d.ts` is generated from that document.
import type { components } from "./api.d.ts";

type Shapes = components["schemas"];

export type Approval = Shapes["ApprovalView"];
export type AuditKind = Shapes["AuditRecordView"]["kind"];
export type AuditPage = Shapes["AuditView"];
export type AuditRecord = Shapes["AuditRecordView"];
export type ChatAnswer = Shapes["ChatAnswerView"];
export type ChatMode = NonNullable<Shapes["MessageAsked"]["mode"]>;
export type ChatUsage = Shapes["ChatUsageView"];
export type Conversation = Shapes["ConversationView"];
export type WholeConversation = Shapes["WholeConversationView"];
export type ConversationMessage = Shapes["SaidView"];
export type Execution = Shapes["ExecutionView"];
export type ExecutionPage = Shapes["ExecutionsView"];
export type FilePage = Shapes["FilesView"];
export type Outcome = Shapes["Outcome"];
export type PlannedCall = Shapes["PlannedCall"];
export type ProblemAnswer = Shapes["ProblemView"];
export type RunEvent = Shapes["RunEvent"];
export type RunProblem = Shapes["EndProblemView"];
export type RunningEvent = Shapes["RunningEvent"];
export type RunningExecution = Shapes["RunningExecutionView"];
export type Scope = Shapes["WhoView"]["scopes"][number];
export type SearchAnswer = Shapes["SearchView"];
export type Server = Shapes["ServerRow"];
export type Session = Shapes["SessionView"];
export type Skill = Shapes["SkillView"];
export type StandingRule = Shapes["StandingRuleView"];
export type Stats = Shapes["StatsView"];
export type Tokens = Shapes["TokensView"];
export type Tool = Shapes["ToolView"];
export type Verified = Shapes["VerifiedView"];
export type Who = Shapes["WhoView"];
export type WorkspaceFile = Shapes["FileView"];

/** The calls that a turn of a chat waits for. */
export interface ChatQuestion {
  approval: string;
  calls: PlannedCall[];
  stopped?: string | null;
  /** In seconds since 1970. */
  expires: number;
}

/** What the document calls `ChatEventView`: the type says which further fields an event has. */
export type ChatEvent =
  | { type: "turn"; conversation: string; turn: number; model: string; mode: string; why: string }
  | { type: "text"; text: string }
  | { type: "code_delta"; program: number; text: string }
  | { type: "code"; program: number; code: string; tool?: string | null }
  | { type: "output"; program: number; text: string }
  | { type: "call_started"; program: number; call: number; tool: string }
  | { type: "call_finished"; program: number; call: number; tool: string; ok: boolean; ms: number }
  | { type: "code_finished"; program: number; execution: string; status: string; text: string; ms: number }
  | { type: "searched"; query: string; found: string[] }
  | { type: "approval"; program: number; question: ChatQuestion }
  | { type: "waiting"; why: string; seconds: number }
  | { type: "note"; text: string }
  | { type: "usage"; usage: ChatUsage }
  | { type: "answer"; answer: ChatAnswer };
