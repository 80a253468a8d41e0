// Short names for the shapes of the OpenAPI document. `api.d.ts` is generated from that document.
import type { components } from "./api.d.ts";

type Shapes = components["schemas"];

export type Approval = Shapes["ApprovalView"];
export type AuditKind = Shapes["AuditRecordView"]["kind"];
export type AuditPage = Shapes["AuditView"];
export type AuditRecord = Shapes["AuditRecordView"];
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
