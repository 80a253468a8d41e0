"""The JSON bodies of requests and responses, for validation and for OpenAPI. Only the modules of this folder define pydantic
models."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from gristmill.config.sections.serve_section import Scope
from gristmill.json_bounds import check_json_values
from gristmill.model import MOST_CODE_CHARACTERS, Budget, Language, Outcome, Plan, Strategy
from gristmill.serve.http.shapes.documented_as import DocumentedAs
from gristmill.serve.http.shapes.passed_shapes import AuditRecordView, TokensView

Name = Annotated[str, Field(min_length=1, max_length=128)]
AuditRecord = Annotated[dict[str, Any], DocumentedAs(AuditRecordView)]


def _check_bounds(values: dict[str, Any]) -> dict[str, Any]:
    check_json_values(values.values())
    return values


BoundedValues = Annotated[dict[str, Any], AfterValidator(_check_bounds)]
"""Values of any shape that are neither nested too deep nor too many."""


class _In(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, hide_input_in_errors=True)


class _Out(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)


class AskedLimits(_In):
    """Limits for one execution. A value above the configured limit is reduced to it."""

    seconds: float | None = Field(default=None, ge=0.01, le=86_400)
    cpu_seconds: float | None = Field(default=None, ge=0.01, le=86_400)
    cpu_percent: int | None = Field(default=None, ge=1, le=10_000)
    memory_mb: int | None = Field(default=None, ge=16, le=1_048_576)
    processes: int | None = Field(default=None, ge=1, le=32_768)
    open_files: int | None = Field(default=None, ge=32, le=65_536)
    workspace_mb: int | None = Field(default=None, ge=1, le=1_048_576)
    workspace_files: int | None = Field(default=None, ge=10, le=10_000_000)
    file_mb: int | None = Field(default=None, ge=1, le=1_048_576)
    output_bytes: int | None = Field(default=None, ge=1_000, le=100_000_000)
    result_bytes: int | None = Field(default=None, ge=1_000, le=100_000_000)
    calls: int | None = Field(default=None, ge=0, le=10_000_000)
    call_bytes: int | None = Field(default=None, ge=1_000, le=10_000_000_000)


class AskedBudget(_In):
    """How many tokens the response may have. Output that does not fit is saved to the workspace of the session."""

    output_tokens: int = Field(default=Budget().output_tokens, ge=0, le=1_000_000)
    result_tokens: int = Field(default=Budget().result_tokens, ge=0, le=1_000_000)

    def to_budget(self) -> Budget:
        """Converts the budget to the type that the runtime uses."""
        return Budget(output_tokens=self.output_tokens, result_tokens=self.result_tokens)


class ExecuteRequest(_In):
    """One program to execute, or an earlier execution to resume."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"code": 'print("test")\n"test"'}],
            "anyOf": [
                {"required": ["code"], "properties": {"code": {"type": "string", "pattern": r"\S"}}},
                {"required": ["resume"], "properties": {"resume": {"type": "string"}}},
            ],
        }
    )

    code: str | None = Field(default=None, max_length=MOST_CODE_CHARACTERS)
    """Python or TypeScript source. The value of its last expression is the result. Optional with `resume`."""
    session: Name | None = None
    """The session that keeps variables and files between executions: a name of your choice, or the id of a session."""
    context: BoundedValues = Field(default_factory=dict, max_length=1_000)
    """Values that the code reads as attributes, such as `context.user_id`. They are never inserted into the code."""
    limits: AskedLimits | None = None
    """Limits below those of the configuration."""
    resume: Name | None = None
    """The id of an earlier execution to resume: tool calls that succeeded in it are not made again."""
    background: bool = False
    """Answer 202 with the id at once; then follow `/executions/{id}/events` or poll `/executions/{id}`."""
    language: Language | None = None
    """The language of the code. Without it the code is Python, or TypeScript where it is no Python; TypeScript needs the extra
    `typescript` on the server."""
    budget: AskedBudget | Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    """How many tokens the response may have. A plain number limits the result."""
    strategy: Strategy | None = None
    """How a response that is too long is shortened."""
    conversation: Name | None = None
    """The conversation that the token accounts count this execution to; without one, its session, or the execution alone."""
    title: str = Field(default="", max_length=200)
    """What you call this execution: lists show it instead of the tools that it called."""

    def asked_budget(self) -> Budget | None:
        """Converts the requested budget to the type that the runtime uses; None if none was requested."""
        if self.budget is None:
            return None
        if isinstance(self.budget, int):
            return Budget(result_tokens=self.budget)
        return self.budget.to_budget()

    def asked_limits(self) -> dict[str, Any] | None:
        """Returns the limits that the request names; None if it names none."""
        return self.limits.model_dump(exclude_none=True) if self.limits is not None else None


class ProblemView(_Out):
    """Why a request failed. `code` never changes its meaning: see the page about errors."""

    code: str
    message: str
    """What is wrong and what to do."""
    rule: str | None = None
    """The rule that refused the request."""
    limit: str | None = None
    """The limit that was exceeded."""
    near: list[str] | None = None
    """Existing names that are similar to a name that was not found."""
    execution: str | None = None
    """The execution that was begun with the same key and not finished; resume it by this id."""


class Accepted(_Out):
    """A background execution that was accepted and recorded."""

    id: str
    status: Literal["running"] = "running"
    session: str | None = None


class ExecutionView(_Out):
    """One execution: its status, and its outcome as long as that is kept."""

    model_config = ConfigDict(extra="allow")

    id: str
    status: str
    """`running`, the status of its outcome, `cancelled`, `interrupted` (accepted, and the process ended) or an error code."""
    session: str | None = None
    caller: str | None = None
    time: float | None = None
    """When it began, in seconds since 1970."""
    ms: float | None = None
    """How long it took, in milliseconds."""
    seq: int | None = None
    """Its number in the audit log."""
    about: str | None = None
    """The first telling line of its code as recorded: an import of tools or skills, or the first line that is not an import."""
    title: str | None = None
    """Its `title`, with masks; without one, which tools it called, and which it asks to call."""
    reason: str | None = None
    """Why it did not succeed: the telling line of its error, with masks."""
    code: str | None = None
    """Its code as recorded, with masks. While it runs, only its own caller gets the code. Not in lists."""
    error: str | None = None
    """Its error, with masks. Not in lists."""
    calls: list[AuditRecord] | None = None
    """The records of its tool calls, in order. Not in lists."""
    outcome: Outcome | None = None
    """The outcome that its caller received, as long as it is kept. Not in lists."""


class ExecutionsView(_Out):
    """A page of executions, the newest first."""

    executions: list[ExecutionView]
    next: int | None = None
    """Pass this as `after` to get older ones; null on the last page."""


class RevertAsked(_In):
    """How an execution is undone."""

    limits: AskedLimits | None = None
    """Limits for the execution that undoes it."""


class SessionAsked(_In):
    """A session to open. Without a name, a name is chosen for it."""

    name: Name | None = None


class SessionView(_Out):
    """One session. Times are in seconds since 1970."""

    id: str
    name: str
    caller: str
    created: float
    used: float
    """When it was last used."""
    expires: float
    """When it expires unless it is used again."""
    state: Literal["live", "deleting"] = "live"
    """`deleting`: nobody can use it any more, and another process has yet to drop what it keeps of it, which takes seconds."""


class FileView(_Out):
    """One file or folder in a workspace."""

    path: str
    kind: Literal["file", "folder", "other"]
    size: int
    """In bytes."""
    changed: float
    """When it was last changed, in seconds since 1970."""
    mime: str


class FilesView(_Out):
    """A page of files."""

    files: list[FileView]
    next: str | None = None
    """Pass this path as `after` to get the following files; null on the last page."""
    truncated: bool = False
    """Whether the workspace has more files than can be listed."""


class SkillDiffView(_Out):
    """What changed from one version of a skill to another, as a unified diff; empty if nothing changed."""

    name: str
    old: int
    new: int
    diff: str


class SkillView(_Out):
    """One version of a skill. `source`, `tests` and `versions` are not in lists."""

    name: str
    level: str
    version: int
    caller: str
    created: float
    hash: str
    tested: bool
    requires: list[str]
    source: str | None = None
    tests: str | None = None
    versions: list[int] | None = None


class FoundToolView(_Out):
    """One tool, with exactly the fields of the level of detail; those of higher levels are left out."""

    name: str
    """The tool's own name."""
    server: str
    description: str | None = None
    """From the level `with_description` on."""
    input_schema: dict[str, Any] | None = None
    """At the level `full`; so are the next two."""
    output_schema: dict[str, Any] | None = None
    """Null if the server declares none."""
    signature: str | None = None


class HitView(FoundToolView):
    """One tool that a search found, with the fields of the level of detail."""

    tool: str
    """The key: server and name."""
    score: float
    """How well it fits; 0 for all in a list without a question."""


class FoundToolsView(_Out):
    """What a search found, with exactly the fields of the level of detail. `text` is the answer for a model."""

    query: str
    tools: list[FoundToolView]
    text: str


class SearchView(_Out):
    """What a search found, the best first. `text` is the answer for a model, at the requested level of detail."""

    query: str
    hits: list[HitView]
    text: str


class ToolView(_Out):
    """One tool as its server defined it."""

    key: str
    server: str
    name: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None = None
    annotations: dict[str, Any]
    title: str | None = None
    tokens: int | None = None
    """How many tokens its definition would take in a model's context."""
    text: str | None = None
    """Its typed Python source. Not in lists."""


class StandingRuleView(_Out):
    """A rule that was made while approving: later calls of the tool need no approval."""

    id: str
    caller: str
    session: str | None
    """Null for a rule for all sessions of the caller."""
    tool: str
    approval: str
    created: float
    made_by: str
    text: str


class OfferedRuleView(_Out):
    """A rule that could be made for a plan, in words."""

    scope: Literal["session", "caller"]
    tool: str
    text: str


class PlannedToolView(_Out):
    """What the server says about a tool of a plan."""

    description: str
    is_cut: bool = False
    """Whether the description is longer than this."""


class PlanDetailsView(_Out):
    """What an approver should know of a plan besides its calls."""

    code: str | None = None
    """The program that asks, masked; null if it is no longer kept."""
    language: Language | None = None
    tools: dict[str, PlannedToolView]
    has_masks: bool = False
    """Whether masks stand in the arguments, so that there are other values to show."""
    values: dict[int, dict[str, Any]] | None = None
    """The arguments without masks, by the number of the call; only if asked for."""
    offered_rules: list[OfferedRuleView] = []
    """What `always` would write."""


class ApprovalView(_Out):
    """A plan of tool calls that waits for approval, or the decision about it."""

    id: str
    execution: str
    session: str | None
    caller: str
    created: float
    expires: float
    standing: Literal["pending", "approved", "denied", "expired"]
    plan: Annotated[dict[str, Any], DocumentedAs(Plan)]
    approved: list[int]
    decided_by: str | None = None
    decided: float | None = None
    details: PlanDetailsView | None = None
    """Not in lists."""
    rules: list[StandingRuleView] | None = None
    """The rules that a decision with `always` made."""


class AlwaysAsked(_In):
    """Rules that are made with an approval."""

    scope: Literal["session", "caller"]
    """For the session of the plan, or for its caller in all sessions."""
    tools: list[Annotated[str, Field(max_length=400)]] | None = Field(default=None, max_length=100)
    """The tools; null for those of all approved calls."""


class DecisionAsked(_In):
    """The decision about a plan."""

    approve: Literal["all", "none"] | Annotated[list[Annotated[int, Field(ge=0, le=1_000_000)]], Field(max_length=10_000)]
    """`all`, `none`, or the numbers of the calls that are approved."""
    always: AlwaysAsked | None = None
    """Also makes rules by which later calls of these tools need no approval."""


class AuditView(_Out):
    """A page of audit records, the newest first."""

    records: list[AuditRecord]
    next: int | None = None
    """Pass this as `after` to get older ones; null on the last page."""


class VerifiedView(_Out):
    """Whether the audit log is complete and unchanged."""

    ok: bool
    records: int
    first_bad: int | None = None
    """The number of the first record that is missing or changed."""
    reason: str | None = None


class StatsView(_Out):
    """What your tenant did since the service started (``since``), how many of its executions run and wait now, and its tokens."""

    since: float
    executions: dict[str, int]
    tools: dict[str, int]
    execution_ms: float
    tokens_saved: int
    """What the recorded work saved against direct calls, each token counted once: the same number as in `tokens`."""
    running: int
    waiting: int
    tokens: Annotated[dict[str, Any], DocumentedAs(TokensView)]
    """What the recorded work cost in tokens, and would have cost with direct calls and with search; see the page about tokens."""


class WhoView(_Out):
    """Who you are for the service, and what you may do."""

    name: str
    tenant: str
    caller: str
    """Your name in records."""
    scopes: list[Scope]
    is_operator: bool
    """Whether you may see what belongs to all tenants: `/metrics`, `/audit/verify`."""
    version: str
    isolation: str


class HealthView(_Out):
    """Whether the process answers, and whether it is ready to execute."""

    status: Literal["ok", "draining", "unavailable"]
    isolation: str | None = None
    reason: str | None = None
    """What is lacking: `sandbox`, `store`, `disk` or `descriptors`; the log says more."""
