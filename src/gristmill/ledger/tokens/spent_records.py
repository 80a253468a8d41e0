"""What is remembered of executions, calls and searches, as plain values: sizes and findings, never content."""

from gristmill.model import Effect, Status
from gristmill.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """One tool call of an execution. ``position`` is its place among them; ``parent`` is the record that caused it."""

    execution: str
    position: int
    tool: str
    server: str
    session: str | None = None
    caller: str = "local"
    parent: str | None = None
    at: float = 0.0
    ms: float = 0.0
    status: str = "ok"
    decision: Effect = "allow"
    rule: str | None = None
    argument_tokens: int = 0
    argument_bytes: int = 0
    result_tokens: int = 0
    result_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionRecord:
    """One execution: what the model wrote (``code_tokens``) and what it got back (``returned_tokens``)."""

    execution: str
    session: str | None = None
    caller: str = "local"
    parent: str | None = None
    at: float = 0.0
    ms: float = 0.0
    status: Status = "ok"
    code_tokens: int = 0
    code_bytes: int = 0
    returned_tokens: int = 0
    returned_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRecord:
    """One search for tools. One that code made itself (``in_code``) is read by code: it costs the model nothing."""

    session: str | None = None
    caller: str = "local"
    at: float = 0.0
    query: str = ""
    found: tuple[str, ...] = ()
    query_tokens: int = 0
    answer_tokens: int = 0
    in_code: bool = False
