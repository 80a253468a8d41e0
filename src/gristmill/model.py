"""The frozen values that all rooms share, and the one signature of a tool call. They have no behaviour beyond trivial views.

Values that leave by a door (an outcome and its parts) are standard dataclasses, which every serializer knows. All others are
msgspec structs: 50 times cheaper to define and 5 times cheaper to create, and each start defines hundreds of them.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from msgspec import Struct, field

from gristmill.escape_text import escape_steering

Json = Any
"""A JSON value. Programs and servers choose its shape, so no narrower static type would be true."""

LOCAL = "local"
"""The tenant when there is only one, and the caller without credentials: the one person who then both asks and approves."""

MOST_CODE_CHARACTERS = 1_000_000
"""The longest program that is run."""
ABANDONED = "abandoned"
"""The reason with which a call is cancelled that its program gave up, and the status of that call in records."""


class Identity(Struct, frozen=True, kw_only=True):
    """Who asks: a caller of a tenant. What is kept belongs to one identity; the same caller in another tenant is another one."""

    tenant: str = LOCAL
    caller: str = LOCAL


LOCAL_IDENTITY = Identity()
"""The identity of the one user of a runtime that serves no tenants."""

Status = Literal["ok", "failed", "refused", "limited", "crashed", "awaiting_approval"]
Effect = Literal["allow", "ask", "deny"]
Strategy = Literal["summarize", "head_tail", "sample", "schema_only", "full"]
Isolation = Literal["namespaces", "landlock"]
State = Literal["fresh", "kept"]
RunNote = Literal[
    "parsed_twice", "sent:dataclass", "sent:date", "sent:decimal", "sent:enum", "sent:numpy", "sent:path", "sent:pydantic",
    "sent:sequence", "sent:set", "sent:table", "sent:uuid", "not_shown",
]  # fmt: skip
"""What code inside the sandbox did that its caller should know: codes, because the sandbox's own words are not trusted."""
Language = Literal["python", "typescript"]


class Limits(Struct, frozen=True, kw_only=True):
    """The limits of one execution; each name is also its configuration key and the ``limit`` of an outcome that exceeded it."""

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


class Budget(Struct, frozen=True, kw_only=True):
    """How many tokens of an outcome are returned to the caller; the rest stays in the workspace."""

    output_tokens: int = 500
    result_tokens: int = 2_000


class Execution(Struct, frozen=True, kw_only=True):
    """One request to execute code."""

    id: str
    code: str
    session: str | None = None
    limits: Limits = field(default_factory=Limits)
    context: Mapping[str, Json] = field(default_factory=dict[str, Json])
    identity: Identity = LOCAL_IDENTITY
    resume: str | None = None
    budget: Budget | None = None
    strategy: Strategy | None = None
    promised: bool = False
    """Whether its outcome is kept, so that it can be fetched later, also after a restart."""
    conversation: str | None = None
    """The conversation that it belongs to in the token accounts; without one, its session, or the execution alone."""
    language: Language | None = None
    """The language of the code; without one it is recognised: Python, or TypeScript where the code is no Python."""
    parent: str | None = None
    """The execution from which it was asked for: in the audit it stands under that one."""
    arm: str | None = None
    """The arm of a rollout that its caller has; records, accounts, metrics and traces name it."""
    title: str | None = None
    """What its caller calls it; lists show it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentPart:
    """A picture or a table that a program showed or returned. ``data`` is base64 for a picture, and HTML for a table."""

    type: Literal["image", "table"]
    mime_type: str
    data: str


class Usage(Struct, frozen=True, kw_only=True):
    """The resources that an execution used, as measured by the host."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    memory_mb: float = 0.0
    calls: int = 0
    call_bytes: int = 0


class Report(Struct, frozen=True, kw_only=True):
    """The result of a run as the sandbox reports it: neither masked nor shortened."""

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
    notes: tuple[RunNote, ...] = ()
    left_files: tuple[str, ...] = ()
    """Files that a program without a session left in its working directory, where they are removed."""
    content: tuple[ContentPart, ...] = ()


class Decision(Struct, frozen=True, kw_only=True):
    """The policy's decision about a call: its effect, the rule, how long the answer may be cached, and if the tool only reads."""

    effect: Effect
    rule: str
    cache_seconds: float = 0.0
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCall:
    """A call that waits for approval: its number in the plan, its tool, its masked arguments, and the rule that asks."""

    number: int
    tool: str
    arguments: Mapping[str, Json]
    rule: str
    hash: str
    occurrence: int = 0
    needs_approval: bool = True
    was_lost: bool = False
    """Whether the call was sent before and its answer was lost: approving it may then do the same thing twice."""
    definition: str = ""
    """Hash of the tool's definition when the call was planned: a decision does not hold for a tool that has changed since."""
    diff: str | None = None
    """What the call would change, as a unified diff; only where the server offers a way to read the present state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The calls of a run that need approval; ``stopped`` says why the plan ends before the program did, if so."""

    id: str
    execution: str
    calls: tuple[PlannedCall, ...]
    expires: float
    stopped: str | None = None
    url: str | None = None
    """Address of the page where a person decides, where one is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """How many calls a resumed run took from the journal of run ``of``; ``diverged`` names recorded calls it did not make."""

    of: str
    answered: int = 0
    diverged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A part of an outcome that did not fit its budget: its path, its size, and one line of code that reads it."""

    part: Literal["output", "result", "error"]
    path: str | None
    tokens: int
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WritesMade:
    """The calls of one tool, which may change something, that a run made before it failed."""

    tool: str
    made: int
    unknown: int = 0
    """How many were sent without an answer: they may have been made."""
    undo: str | None = None
    """The call that undoes one, as `policy.revert` says it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of an execution, as its caller gets it. ``success`` is true only for ``status == "ok"``."""

    id: str
    status: Status
    success: bool
    output: str
    """What the program printed. It can hold escape sequences that a terminal obeys: in Python, print ``text`` instead."""
    result: Json
    error: str | None
    """What went wrong, in the program's own words: in Python, print ``error_text`` instead."""
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
    repaired: tuple[str, ...] = ()
    """What was done to the program so that it parses; empty for a program that was run as it was sent."""
    content: tuple[ContentPart, ...] = ()
    """Pictures and tables that the program showed or returned. A program writes the HTML of a table: do not trust it."""
    writes: tuple[WritesMade, ...] = ()
    """What a run that did not succeed had written until then; `gristmill revert` undoes those that have an `undo`."""

    @property
    def text(self) -> str:
        """Returns ``output`` with control, bidirectional and invisible characters shown as escapes; line ends and tabs stay."""
        return escape_steering(self.output)

    @property
    def error_text(self) -> str | None:
        """Returns ``error`` with control, bidirectional and invisible characters shown as escapes; line ends and tabs stay."""
        return None if self.error is None else escape_steering(self.error)


class Tool(Struct, frozen=True, kw_only=True):
    """One tool as its server defined it. All other parts refer to it by ``key`` (``server.name``)."""

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


class ToolCall(Struct, frozen=True, kw_only=True):
    """One call of a tool. ``positional`` holds arguments without names, which are named later from the tool's schema."""

    id: int
    tool: str
    arguments: Mapping[str, Json]
    positional: tuple[Json, ...] = ()
    execution: str = ""
    session: str | None = None
    identity: Identity = LOCAL_IDENTITY


class ToolResult(Struct, frozen=True, kw_only=True):
    """The answer of a tool; ``value`` is what the program gets."""

    value: Json
    is_error: bool = False
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """Files that ``value`` refers to, by their path in the workspace."""
    planned: int | None = None
    """Set when the call was not made but planned: its number in the plan. The program gets a stand-in value."""


Handler = Callable[[ToolCall], Awaitable[ToolResult]]
"""Answers a tool call: an upstream, or an upstream behind layers."""


class Layer(Protocol):
    """A step that every tool call passes on its way out and back: quota, policy, redaction, recording."""

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult: ...
