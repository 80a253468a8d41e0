"""The frozen nouns that every room speaks, and the one signature of a tool call. No behaviour beyond trivial views."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Any, Literal, Protocol

from gristmill.values import dataclass

Json = Any
"""A JSON value. Its shape comes from strangers (agents, servers), so no static type can be more honest."""

LOCAL = "local"
"""The tenant when there is only one, and the caller when nobody says who he is: then who asks and who approves are one person."""

Status = Literal["ok", "failed", "refused", "limited", "crashed", "awaiting_approval"]
Effect = Literal["allow", "ask", "deny"]
Strategy = Literal["summarize", "head_tail", "sample", "schema_only", "full"]
Isolation = Literal["namespaces", "landlock"]
State = Literal["fresh", "kept"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one execution may use; each name is also the configuration key and the ``limit`` of an outcome."""

    seconds: float = 30.0
    cpu_seconds: float = 30.0
    cpu_percent: int = 100
    memory_mb: int = 256
    processes: int = 64
    open_files: int = 256
    workspace_mb: int = 100
    workspace_files: int = 10_000
    file_mb: int = 10
    output_bytes: int = 1_000_000
    result_bytes: int = 8_000_000
    calls: int = 1_000
    call_bytes: int = 64_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How many tokens of an outcome may go back; what does not fit stays in the workspace."""

    output_tokens: int = 500
    result_tokens: int = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One request to execute code."""

    id: str
    code: str
    session: str | None = None
    limits: Limits = field(default_factory=Limits)
    context: Mapping[str, Json] = field(default_factory=dict[str, Json])
    caller: str = "local"
    tenant: str = "local"
    resume: str | None = None
    budget: Budget | None = None
    strategy: Strategy | None = None
    promised: bool = False
    """Whether its outcome is kept for whoever asks for it later, also after a restart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What an execution used, measured by the host."""

    seconds: float = 0.0
    memory_mb: float = 0.0
    calls: int = 0
    call_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What the sandbox says about a run: raw, unmasked, unshaped."""

    status: Status
    output: str = ""
    truncated: bool = False
    result: Json = None
    error: str | None = None
    error_type: str | None = None
    limit: str | None = None
    usage: Usage = field(default_factory=Usage)
    tools_called: tuple[str, ...] = ()
    isolation: Isolation = "namespaces"
    state: State = "fresh"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What becomes of a call, by which rule, for how long its answer may be kept, and whether the tool is known to only read."""

    effect: Effect
    rule: str
    cache_seconds: float = 0.0
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCall:
    """A call that waits for approval: number in the plan, tool, arguments as an approver may see them, and why it asks."""

    number: int
    tool: str
    arguments: Mapping[str, Json]
    rule: str
    hash: str
    occurrence: int = 0
    needs_approval: bool = True
    was_lost: bool = False
    """It was sent before and its answer was lost: approving it may do it twice."""
    definition: str = ""
    """The tool as it was when the call was planned, by hash: a decision about another tool of that name does not count."""
    diff: str | None = None
    """What would change, as a unified diff, where the server lets us see what is there now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run wants to do and may not do without approval; ``stopped`` says why the plan ends early, if it does."""

    id: str
    execution: str
    calls: tuple[PlannedCall, ...]
    expires: float
    stopped: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What a resumed run took from the journal instead of calling again; ``diverged`` names recorded calls it did not make."""

    of: str
    answered: int = 0
    diverged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A part of an outcome that did not fit its budget: where it is, how large, and one line of code to look at it."""

    part: Literal["output", "result", "error"]
    path: str | None
    tokens: int
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What goes back to the caller. ``success`` is true only for ``status == "ok"``."""

    id: str
    status: Status
    success: bool
    output: str
    result: Json
    error: str | None
    error_type: str | None
    limit: str | None
    execution_time_ms: float
    memory_mb: float
    tools_called: tuple[str, ...]
    isolation: Isolation
    truncated: bool
    state: State
    session: str | None = None
    advice: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    plan: Plan | None = None
    replay: Replay | None = None
    tokens_saved: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool as its server defined it. ``key`` (``server.name``) is how everything refers to it."""

    server: str
    name: str
    description: str = ""
    input_schema: Mapping[str, Json] = field(default_factory=dict[str, Json])
    output_schema: Mapping[str, Json] | None = None
    annotations: Mapping[str, Json] = field(default_factory=dict[str, Json])
    title: str | None = None

    @property
    def key(self) -> str:
        return f"{self.server}.{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call on its way out. ``positional`` holds arguments whose names only the tool's schema knows."""

    id: int
    tool: str
    arguments: Mapping[str, Json]
    positional: tuple[Json, ...] = ()
    execution: str = ""
    session: str | None = None
    caller: str = "local"
    tenant: str = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool answered; ``value`` is what the code gets."""

    value: Json
    is_error: bool = False
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes], repr=False)
    """Files for the workspace, by their path in it, that ``value`` refers to."""
    planned: int | None = None
    """The call was not made: it is this number in a plan, and the code gets a stand-in."""


Handler = Callable[[ToolCall], Awaitable[ToolResult]]
"""An upstream, or an upstream behind layers."""


class Layer(Protocol):
    """Something every tool call passes on its way out and back: quota, policy, redaction, recording."""

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult: ...
