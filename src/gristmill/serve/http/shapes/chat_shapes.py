"""The JSON bodies of the chat: of our own routes, and of OpenAI's chat completions."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from gristmill.json_bounds import check_json_values

MESSAGE_CHARACTERS = 400_000
Mode = Literal["code", "hybrid", "direct", "auto", "blocks"]
ConversationId = Annotated[str, Field(min_length=1, max_length=128)]


def _check_bounds(values: dict[str, Any]) -> dict[str, Any]:
    check_json_values(values.values())
    return values


class _ChatIn(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, hide_input_in_errors=True)


class _ChatOut(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True, from_attributes=True)


class MessageAsked(_ChatIn):
    """A message of a user, in a new conversation or in one of yours."""

    message: str = Field(min_length=1, max_length=MESSAGE_CHARACTERS, pattern=r"\S")
    conversation: ConversationId | None = None
    """The id of the conversation to go on with; without it one begins."""
    context: Annotated[dict[str, Any], AfterValidator(_check_bounds)] | None = None
    """Values that programs read as `context.NAME`. The model is told the names, not the values."""
    mode: Mode | None = None
    """What the model is offered from now on; without it as before, or as configured."""
    model: str | None = Field(default=None, max_length=200)
    """One of the configured models."""
    stream: bool = False
    """Whether the events are streamed as server-sent events, the answer last."""


class PlanDecided(_ChatIn):
    """A decision about the plan for which a conversation waits."""

    approve: Literal["all", "none"] | Annotated[list[int], Field(max_length=10_000)]
    """All calls, none, or the numbers of calls."""
    stream: bool = False


class TurnNamed(_ChatIn):
    """The conversation whose turn is meant."""

    conversation: ConversationId


class TurnAsked(_ChatIn):
    """How to continue a turn."""

    stream: bool = False


class TurnNothing(_ChatIn):
    """An empty object: everything is said by the address."""


class ChatUsageView(_ChatOut):
    """What the provider counted: tokens in and out, those of the input that came from its cache, and the money."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int
    requests: int
    money: float | None
    """In US dollars; null where the price of the model is not configured."""


class ChatProgramView(_ChatOut):
    """One program of a turn, and how it ended."""

    number: int
    execution: str
    code: str
    status: str
    tools_called: list[str]
    ms: float


class ChatProblemView(_ChatOut):
    """Why a turn failed or was stopped, and what to do."""

    code: str
    message: str
    retry_after: float | None = None


class ChatAnswerView(_ChatOut):
    """The answer of a turn."""

    conversation: str
    turn: int
    status: Literal["answered", "awaiting_approval", "stopped", "failed"]
    text: str
    mode: str
    why: str
    programs: list[ChatProgramView]
    approval: dict[str, Any] | None
    """The question about a plan that waits: `POST /chat/conversations/{id}/decide` answers it."""
    usage: ChatUsageView
    problem: ChatProblemView | None
    fallback: bool
    """Whether the model answered without code because code could not be run."""


class ChatEventView(_ChatOut):
    """One event of a turn. `type` says which further fields it has; the last is `answer`."""

    model_config = ConfigDict(extra="allow")

    type: Literal[
        "turn", "text", "code_delta", "code", "output", "call_started", "call_finished", "code_finished", "searched", "approval",
        "waiting", "note", "usage", "answer",
    ]  # fmt: skip


class ConversationView(_ChatOut):
    """One conversation, with what it cost so far."""

    id: str
    title: str
    model: str
    mode: str
    created: float
    used: float
    turns: int
    standing: Literal["idle", "running", "awaiting_approval"]
    usage: ChatUsageView
    session: str
    """The session in which its programs run: its files are there."""


class SaidView(_ChatOut):
    """One message of a conversation."""

    number: int
    turn: int
    kind: Literal["user", "model", "result", "note"]
    text: str
    programs: list[str]
    """The programs that the model wrote in this message."""
    at: float


class TurnView(_ChatOut):
    """One turn: how it ended, and what it cost."""

    turn: int
    at: float
    ms: float
    status: str
    mode: str
    model: str
    executions: list[str]
    usage: ChatUsageView


class WholeConversationView(ConversationView):
    """A conversation with its messages and turns."""

    messages: list[SaidView]
    turns_taken: list[TurnView]
    question: dict[str, Any] | None
    """The plan that waits for a decision, if one does."""


class StoppedView(_ChatOut):
    """Whether there was something to stop or to forget."""

    done: bool


class CompletionMessage(BaseModel):
    """One message, as clients of OpenAI's protocol send it; fields that are not used here are ignored."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[dict[str, Any]] | None = None


class CompletionAsked(BaseModel):
    """The body of OpenAI's chat completions. Settings of the model are ignored: they belong to the configuration."""

    model_config = ConfigDict(extra="allow")

    model: str = Field(default="", max_length=200)
    """`gristmill`, or one of the configured models."""
    messages: list[CompletionMessage] = Field(min_length=1, max_length=2_000)
    stream: bool = False
    stream_options: dict[str, Any] | None = None
    tools: list[dict[str, Any]] | None = None
    """Not accepted: the tools are those of the gateway."""
