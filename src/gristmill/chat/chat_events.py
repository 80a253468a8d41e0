"""What happens in a turn, as values, in the order in which it happens. As JSON each has a ``type``."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from gristmill.runtime.values.kept_conversations import ChatUsage

ChatMode = Literal["code", "hybrid", "direct", "auto", "blocks"]
TurnStatus = Literal["answered", "awaiting_approval", "stopped", "failed"]


class ChatProgram(Struct, frozen=True, kw_only=True):
    """One program of a turn, or one direct call, and how it ended."""

    number: int
    execution: str
    code: str
    status: str
    tools_called: tuple[str, ...] = ()
    ms: float = 0.0


class ChatProblem(Struct, frozen=True, kw_only=True):
    """Why a turn failed, was stopped, or was answered without code, and what to do."""

    code: str
    message: str
    retry_after: float | None = None
    """The seconds after which the provider wants to be asked again."""


class ChatAnswer(Struct, frozen=True, kw_only=True):
    """The whole answer of a turn."""

    conversation: str
    turn: int
    status: TurnStatus
    text: str
    mode: str
    why: str = ""
    """Why this mode was chosen, in mode ``auto``, or why there is a fallback."""
    programs: tuple[ChatProgram, ...] = ()
    approval: Mapping[str, Any] | None = None
    """The question about a plan that waits: answer it with ``Chat.decide``."""
    usage: ChatUsage = ChatUsage()
    problem: ChatProblem | None = None
    fallback: bool = False
    """Whether the model answered without code because code could not be run."""


class TurnBegan(Struct, frozen=True, kw_only=True, tag="turn", tag_field="type"):
    """A turn began, or goes on."""

    conversation: str
    turn: int
    model: str
    mode: str
    why: str = ""


class TextDelta(Struct, frozen=True, kw_only=True, tag="text", tag_field="type"):
    """A part of the text that the model writes."""

    text: str


class CodeDelta(Struct, frozen=True, kw_only=True, tag="code_delta", tag_field="type"):
    """A part of the program that the model writes; ``program`` numbers the programs of the turn."""

    program: int
    text: str


class ProgramStarted(Struct, frozen=True, kw_only=True, tag="code", tag_field="type"):
    """A whole program is executed now; a direct call has the ``tool`` and no code."""

    program: int
    code: str
    tool: str | None = None


class ProgramPrinted(Struct, frozen=True, kw_only=True, tag="output", tag_field="type"):
    """The program wrote to its output."""

    program: int
    text: str


class NestedCallStarted(Struct, frozen=True, kw_only=True, tag="call_started", tag_field="type"):
    """The program calls a tool."""

    program: int
    call: int
    tool: str


class NestedCallFinished(Struct, frozen=True, kw_only=True, tag="call_finished", tag_field="type"):
    """The call was answered."""

    program: int
    call: int
    tool: str
    ok: bool
    ms: float


class ProgramFinished(Struct, frozen=True, kw_only=True, tag="code_finished", tag_field="type"):
    """The program ended; ``text`` is what the model reads of it."""

    program: int
    execution: str
    status: str
    text: str
    ms: float


class ToolsSearched(Struct, frozen=True, kw_only=True, tag="searched", tag_field="type"):
    """The model searched for tools."""

    query: str
    found: tuple[str, ...]


class ApprovalNeeded(Struct, frozen=True, kw_only=True, tag="approval", tag_field="type"):
    """Calls wait for a person: every call in order, groups, differences, a hash and the time when the question expires."""

    program: int
    question: Mapping[str, Any]


class ModelDelayed(Struct, frozen=True, kw_only=True, tag="waiting", tag_field="type"):
    """The provider asked to wait, or failed in passing: the request is sent again after ``seconds``."""

    why: str
    seconds: float


class TurnNoted(Struct, frozen=True, kw_only=True, tag="note", tag_field="type"):
    """Something that the person should know: code cannot run and the model answers without, history was folded, and so on."""

    text: str


class UsageCounted(Struct, frozen=True, kw_only=True, tag="usage", tag_field="type"):
    """What the turn has cost so far, after each request to the model."""

    usage: ChatUsage


class TurnAnswered(Struct, frozen=True, kw_only=True, tag="answer", tag_field="type"):
    """The turn ended; this is always the last event."""

    answer: ChatAnswer


ChatEvent = (
    TurnBegan | TextDelta | CodeDelta | ProgramStarted | ProgramPrinted | NestedCallStarted | NestedCallFinished | ProgramFinished
    | ToolsSearched | ApprovalNeeded | ModelDelayed | TurnNoted | UsageCounted | TurnAnswered
)  # fmt: skip
