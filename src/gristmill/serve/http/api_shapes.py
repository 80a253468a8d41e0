"""What goes in and out as JSON, for validation and for OpenAPI. The only pydantic of this door."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from gristmill.config.sections.serve_section import Scope
from gristmill.guard.program.runnable_text import CODE_BYTES
from gristmill.model import Budget, Outcome, Strategy

Name = Annotated[str, Field(min_length=1, max_length=128)]


class _In(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, hide_input_in_errors=True)


class _Out(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)


class AskedLimits(_In):
    """Less than the configuration allows; more is cut to what it allows."""

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
    """How many tokens may go back; what does not fit stays in the workspace."""

    output_tokens: int = Field(default=Budget().output_tokens, ge=0, le=1_000_000)
    result_tokens: int = Field(default=Budget().result_tokens, ge=0, le=1_000_000)

    def value(self) -> Budget:
        """The same as the value that the hall speaks of."""
        return Budget(output_tokens=self.output_tokens, result_tokens=self.result_tokens)


class ExecuteRequest(_In):
    """One program to execute."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"code": 'print("test")\n"test"'}],
            "anyOf": [
                {"required": ["code"], "properties": {"code": {"type": "string", "pattern": r"\S"}}},
                {"required": ["resume"], "properties": {"resume": {"type": "string"}}},
            ],
        }
    )

    code: str | None = Field(default=None, max_length=CODE_BYTES)
    """Python. The value of the last expression is the result. May be left out with `resume`."""
    session: Name | None = None
    """Keeps variables and files between executions; a name of your choice."""
    context: dict[str, Any] = Field(default_factory=dict, max_length=1_000)
    """Values that the code reads as `context.user_id`; never pasted into the code."""
    limits: AskedLimits | None = None
    """Less than the configuration allows."""
    resume: Name | None = None
    """The id of an earlier execution: calls that succeeded in it are not made again."""
    background: bool = False
    """Answer 202 with the id at once; follow `/executions/{id}/events` or ask `/executions/{id}`."""
    language: Literal["python"] = "python"
    """Only `python`."""
    budget: AskedBudget | Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    """Tokens that may go back; a number is for the result."""
    strategy: Strategy | None = None
    """How an answer that is too long is made short."""

    def asked_budget(self) -> Budget | None:
        """The budget as the value that the hall speaks of."""
        if self.budget is None:
            return None
        if isinstance(self.budget, int):
            return Budget(result_tokens=self.budget)
        return self.budget.value()

    def asked_limits(self) -> dict[str, Any] | None:
        """The limits that were named."""
        return self.limits.model_dump(exclude_none=True) if self.limits is not None else None


class Problem(_Out):
    """Why a request was not done. `code` is stable: see the page about errors."""

    code: str
    message: str
    rule: str | None = None
    limit: str | None = None
    near: list[str] | None = None


class Accepted(_Out):
    """A background execution that was accepted, and is on record."""

    id: str
    status: Literal["running"] = "running"
    session: str | None = None


class ExecutionView(_Out):
    """An execution: how it is or ended, and its outcome while that is kept."""

    model_config = ConfigDict(extra="allow")

    id: str
    status: str
    """`running`, a status of an outcome, `cancelled`, `interrupted` (accepted, and the process died) or an error's code."""
    session: str | None = None
    caller: str | None = None
    time: float | None = None
    """When it began, in seconds since 1970."""
    ms: float | None = None
    """How long it took."""
    seq: int | None = None
    """Its place in the audit."""
    about: str | None = None
    """The first line of its code that is more than an import, as it is on record."""
    code: str | None = None
    """With masks, as it is on record; of one that runs only to its own caller. Not in lists."""
    error: str | None = None
    """With masks. Not in lists."""
    calls: list[dict[str, Any]] | None = None
    """Records of its tool calls, in order. Not in lists."""
    outcome: Outcome | None = None
    """What its caller was told, as long as that is kept. Not in lists."""


class ExecutionsView(_Out):
    """Executions, the newest first; `next` goes on with older ones."""

    executions: list[ExecutionView]
    next: int | None = None


class SessionAsked(_In):
    """A session to open; without a name it gets one."""

    name: Name | None = None


class SessionView(_Out):
    """One session."""

    id: str
    name: str
    caller: str
    created: float
    used: float
    expires: float


class FileView(_Out):
    """One thing in a workspace."""

    path: str
    kind: Literal["file", "folder", "other"]
    size: int
    changed: float
    mime: str


class FilesView(_Out):
    """A page of files; `next` is the path to go on after."""

    files: list[FileView]
    next: str | None = None
    truncated: bool = False


class SkillDiffView(_Out):
    """What changed from one version of a skill to another, as a unified diff; empty where nothing did."""

    name: str
    old: int
    new: int
    diff: str


class SkillView(_Out):
    """One version of a skill; `source` and `tests` only where one skill was asked for."""

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


class HitView(_Out):
    """One tool that was found."""

    tool: str
    description: str
    score: float


class SearchView(_Out):
    """What a search found, best first; `text` is for a model, at the asked level of detail."""

    query: str
    hits: list[HitView]
    text: str


class ServerView(_Out):
    """How a server is; `tokens` is what its definitions would cost in a model's context."""

    name: str
    kind: str
    state: str
    tools: int
    tokens: int
    era: str | None = None
    error: str | None = None
    changed: int = 0
    """Tools whose definition is not the one that was accepted."""
    flagged: int = 0
    """Tools whose definition is suspicious."""
    confined: bool = False
    """Whether its program runs within walls."""


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
    """What its definition would cost in a model's context."""
    text: str | None = None
    """Source to read, where one tool was asked for."""


class ApprovalView(_Out):
    """A plan that waits for a person, or what was decided about it."""

    id: str
    execution: str
    session: str | None
    caller: str
    created: float
    expires: float
    standing: Literal["pending", "approved", "denied", "expired"]
    plan: dict[str, Any]
    approved: list[int]
    decided_by: str | None = None
    decided: float | None = None


class DecisionAsked(_In):
    """What may be done of a plan."""

    approve: Literal["all", "none"] | Annotated[list[Annotated[int, Field(ge=0, le=1_000_000)]], Field(max_length=10_000)]
    """`all`, `none`, or the numbers of the calls that may be made."""


class AuditView(_Out):
    """Records of what happened, the newest first; `next` goes on with older ones."""

    records: list[dict[str, Any]]
    next: int | None = None


class VerifiedView(_Out):
    """Whether the audit is whole."""

    ok: bool
    records: int
    first_bad: int | None = None
    reason: str | None = None


class StatsView(_Out):
    """What your tenant did since the service started, and how busy it is."""

    since: float
    executions: dict[str, int]
    tools: dict[str, int]
    execution_ms: float
    tokens_saved: int
    running: int
    waiting: int
    tokens: dict[str, Any]
    """What everything on record cost, and would have cost with direct calls and with search; see the page about tokens."""


class WhoView(_Out):
    """Who you are to the service, and what you may do."""

    name: str
    tenant: str
    caller: str
    """As records name you."""
    scopes: list[Scope]
    is_operator: bool
    """Whether you may see what is of all tenants: `/metrics`, `/audit/verify`."""
    version: str
    isolation: str


class HealthView(_Out):
    """Whether the process answers, or is ready for work."""

    status: Literal["ok", "draining", "unavailable"]
    isolation: str | None = None
    reason: str | None = None
    """What is missing: `sandbox` or `store`; the log says more."""
