"""Token records of executions, calls and searches, as plain values: sizes and findings, never content."""

from msgspec import Struct

from gristmill.model import LOCAL, Status


class SpentCall(Struct, frozen=True, kw_only=True):
    """One tool call of an execution. ``position`` is its place among the calls."""

    execution: str
    position: int
    tool: str
    server: str
    session: str | None = None
    caller: str = LOCAL
    at: float = 0.0
    ms: float = 0.0
    status: str = "ok"
    argument_tokens: int = 0
    argument_bytes: int = 0
    result_tokens: int = 0
    result_bytes: int = 0


class SpentExecution(Struct, frozen=True, kw_only=True):
    """One execution: what the model wrote (``code_tokens``) and what it got back (``returned_tokens``)."""

    execution: str
    session: str | None = None
    caller: str = LOCAL
    parent: str | None = None
    at: float = 0.0
    ms: float = 0.0
    status: Status = "ok"
    code_tokens: int = 0
    code_bytes: int = 0
    returned_tokens: int = 0
    returned_bytes: int = 0


class SpentSearch(Struct, frozen=True, kw_only=True):
    """One search for tools. The answer of a search made by code (``in_code``) is read by code, so it costs the model nothing."""

    session: str | None = None
    caller: str = LOCAL
    at: float = 0.0
    query: str = ""
    found: tuple[str, ...] = ()
    query_tokens: int = 0
    answer_tokens: int = 0
    in_code: bool = False
