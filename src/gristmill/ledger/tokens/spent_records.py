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
    """One execution: what the model wrote (``code_tokens``) and what it got back (``returned_tokens``).

    The first execution of a conversation carries the tokens of our own tools (``surface_tokens``); the first that succeeded and
    called a tool carries those of all definitions (``definition_tokens``), as they were at that time. Others carry 0.
    """

    execution: str
    conversation: str = ""
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
    definition_tokens: int = 0
    surface_tokens: int = 0
    arm: str = ""

    @property
    def is_worth(self) -> bool:
        """Returns whether direct calls would have done the same work: an execution that failed or was refused only cost."""
        return self.status == "ok"


class SpentSearch(Struct, frozen=True, kw_only=True):
    """One search for tools. The answer of a search made by code (``in_code``) is read by code, so it costs the model nothing."""

    conversation: str = ""
    session: str | None = None
    caller: str = LOCAL
    at: float = 0.0
    query: str = ""
    found: tuple[str, ...] = ()
    query_tokens: int = 0
    answer_tokens: int = 0
    in_code: bool = False


def name_conversation(*, conversation: str | None, session: str | None, execution: str = "") -> str:
    """Names the conversation of some work: the one that the caller named, else its session, else the execution alone.

    A search that belongs to none of them gets no name: it is placed with the execution that it was made for.
    """
    if conversation is not None:
        return f"named {conversation}"
    if session is not None:
        return f"session {session}"
    return f"{ALONE}{execution}" if execution else ""


ALONE = "execution "
"""How the name of a conversation begins that is one execution."""
