"""The values of a conversation: itself, its messages, its turns, and the plan that it waits for."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from gristmill.model import Identity

Standing = Literal["idle", "running", "awaiting_approval"]
MessageKind = Literal["user", "model", "result", "note"]


class ChatUsage(Struct, frozen=True, kw_only=True):
    """What the model's provider counted: tokens in and out, those of the input that came from its cache, and the money."""

    input_tokens: int = 0
    """All input, with what came from the cache."""
    output_tokens: int = 0
    cached_tokens: int = 0
    requests: int = 0
    money: float | None = None
    """In US dollars; None where the price of the model is not known."""

    def __add__(self, other: "ChatUsage") -> "ChatUsage":
        """Adds what two requests used."""
        known = [each for each in (self.money, other.money) if each is not None]
        return ChatUsage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            requests=self.requests + other.requests,
            money=round(sum(known), 9) if known else None,
        )


class Conversation(Struct, frozen=True, kw_only=True):
    """One conversation of one caller."""

    id: str
    owner: Identity
    title: str
    """The beginning of its first message."""
    model: str
    mode: str
    created: float
    used: float
    turns: int
    standing: Standing
    usage: ChatUsage
    folded_turns: int = 0
    """How many of its first turns the model gets only as a summary."""
    holder: str | None = None
    """The process that works on it now."""
    pending: Mapping[str, Any] | None = None
    """What is needed to continue a turn that waits or was interrupted."""


class ConversationMessage(Struct, frozen=True, kw_only=True):
    """One message, as the model got it in its own turn (``body``) and as it gets it in later turns (``folded``)."""

    number: int
    turn: int
    kind: MessageKind
    body: Mapping[str, Any]
    folded: Mapping[str, Any] | None = None
    at: float = 0.0


class ConversationTurn(Struct, frozen=True, kw_only=True):
    """One turn: how it ended, and what it cost."""

    turn: int
    at: float
    ms: float
    status: str
    mode: str
    model: str
    executions: tuple[str, ...]
    usage: ChatUsage
