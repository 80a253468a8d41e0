"""One turn as it is worked on: the messages so far, its programs, what it cost, and whether the model repeats itself."""

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from langchain_core.messages import HumanMessage, ToolMessage
from msgspec import Struct

from gristmill.chat.ask_model import Tell
from gristmill.chat.chat_events import ChatAnswer, ChatMode, ChatProblem, ChatProgram, TurnStatus
from gristmill.chat.code_blocks import find_marked_program
from gristmill.chat.fold_history import pack_message, read_text, unpack_model_message
from gristmill.chat.mode_prompts import EXECUTE
from gristmill.model import Identity, Json
from gristmill.runtime.values.kept_conversations import ChatUsage, ConversationMessage, MessageKind

NOT_RUN = "not run: the turn was stopped before"
BLOCK = "block"
"""The id of the one call that an answer without tool calling can make."""


class TurnLog(Protocol):
    """Stores the messages of a turn, so that another process can go on."""

    async def append(self, messages: Sequence[ConversationMessage]) -> None:
        """Stores messages."""
        ...


class OpenCall(Struct, frozen=True, kw_only=True):
    """A call that the model asked for and that has no result yet; ``problem`` says why it cannot be read."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    message: int
    problem: str | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class ChatTurn:
    """The state of one turn."""

    conversation: str
    number: int
    mode: ChatMode
    model: str
    identity: Identity
    tell: Tell
    log: TurnLog
    next_message: int
    nonce: str
    """Tells this turn from one with the same number that was forgotten."""
    session: str | None = None
    context: Mapping[str, Json] = field(default_factory=dict[str, Json])
    why: str = ""
    prompt: str | None = None
    """What replaces our own instructions."""
    instructions: str = ""
    """What the client tells the model first, after our own instructions."""
    direct: tuple[str, ...] = ()
    history: Sequence[ConversationMessage] = ()
    messages: list[ConversationMessage] = field(default_factory=list[ConversationMessage])
    folded_turns: int = 0
    usage: ChatUsage = field(default_factory=ChatUsage)
    programs: list[ChatProgram] = field(default_factory=list[ChatProgram])
    earlier_programs: int = 0
    """How many programs the turn had before it was interrupted."""
    fallback: bool = False
    failures: int = 0
    last_failure: bytes = b""
    began: float = field(default_factory=time.time)
    clock: Callable[[], float] = time.monotonic
    started: float = field(default_factory=time.monotonic)

    @property
    def next_program(self) -> int:
        """The number of the next program."""
        return self.earlier_programs + len(self.programs) + 1

    async def add(
        self, kind: MessageKind, body: Mapping[str, Any], folded: Mapping[str, Any] | None = None
    ) -> ConversationMessage:  # fmt: skip
        """Adds a message and stores it."""
        made = ConversationMessage(number=self.next_message, turn=self.number, kind=kind, body=body, folded=folded)
        await self.log.append([made])
        self.messages.append(made)
        self.next_message += 1
        return made

    def count_failure(self, signature: str) -> int:
        """Counts a failure; returns how many identical ones came in a row."""
        digest = hashlib.sha256(signature.encode("utf-8", "surrogatepass")).digest()
        self.failures = self.failures + 1 if digest == self.last_failure else 1
        self.last_failure = digest
        return self.failures

    def forget_failures(self) -> None:
        """Begins the count anew: something succeeded."""
        self.failures, self.last_failure = 0, b""

    def build_answer(self, status: TurnStatus, text: str, **more: Any) -> ChatAnswer:
        """Returns the answer of the turn as it is now."""
        problem: ChatProblem | None = more.pop("problem", None)
        return ChatAnswer(
            conversation=self.conversation, turn=self.number, status=status, text=text, mode=self.mode, why=self.why,
            programs=tuple(self.programs), usage=self.usage, problem=problem, fallback=self.fallback, **more,
        )  # fmt: skip


def list_open_calls(messages: Sequence[ConversationMessage], *, in_blocks: bool) -> list[OpenCall]:
    """Returns the calls of the model's last answer that have no result yet, in order."""
    place = next((place for place in reversed(range(len(messages))) if messages[place].kind == "model"), None)
    if place is None:
        return []
    stored, after = messages[place], messages[place + 1 :]
    if any(message.kind == "user" for message in after):
        return []
    if in_blocks:
        program = find_marked_program(read_text(stored.body))
        if program is None or any(message.kind == "result" for message in after):
            return []
        problem = None if program.is_closed or not _was_cut(stored.body) else "the block was cut off"
        call = OpenCall(id=BLOCK, name=EXECUTE, arguments={"code": program.code}, message=stored.number, problem=problem)
        return [call]
    answered = {message.body.get("data", {}).get("tool_call_id") for message in after if message.kind == "result"}
    said = unpack_model_message(stored.body)
    calls = [
        OpenCall(id=each["id"] or "", name=each["name"], arguments=each["args"], message=stored.number)
        for each in said.tool_calls
    ] + [
        OpenCall(
            id=each["id"] or "", name=each["name"] or "", arguments={}, message=stored.number,
            problem="its arguments are not JSON; send the call again",
        )
        for each in said.invalid_tool_calls
    ]  # fmt: skip
    return [call for call in calls if call.id not in answered]


def build_result(call: OpenCall, text: str, *, is_error: bool = False, block_text: str | None = None) -> dict[str, Any]:
    """Returns the message with the result of a call."""
    if call.id == BLOCK:
        return pack_message(HumanMessage(block_text or text))
    return pack_message(
        ToolMessage(content=text, tool_call_id=call.id, name=call.name or None, status="error" if is_error else "success")
    )


def _was_cut(body: Mapping[str, Any]) -> bool:
    """Returns whether the provider ended the answer because it became too long."""
    given: Mapping[str, Any] = body.get("data", {}).get("response_metadata") or {}
    return (given.get("finish_reason") or given.get("stop_reason") or given.get("done_reason")) in ("length", "max_tokens")
