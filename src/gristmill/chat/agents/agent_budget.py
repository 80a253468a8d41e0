"""What an agent may use, and what was used: tokens of one question, and of the questions that it asks in turn."""

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.language_models import BaseChatModel
from msgspec import Struct

from gristmill.chat.chat_events import ChatEvent, ChatMode, CodeDelta, TextDelta, UsageCounted
from gristmill.errors import LimitExceeded
from gristmill.model import Identity
from gristmill.runtime.values.kept_conversations import ChatUsage

DEEPEST = 3
"""Agents that ask agents that ask agents."""


class Agent(Struct, frozen=True, kw_only=True):
    """A model that programs may ask, and what one answer may cost at most: tokens in and out, requests, seconds."""

    model: str | BaseChatModel
    about: str = ""
    """What it is good for, for the models that write the programs."""
    instructions: str = ""
    base_url: str = ""
    """The address of the model's service; without one it is `chat.base_url` of the configuration."""
    mode: ChatMode = "code"
    direct: Sequence[str] = ()
    tokens: int = 50_000
    steps: int = 10
    seconds: float = 120.0


class AskedAgent(Struct, frozen=True, kw_only=True):
    """What an answer cost, for the application: ``parent`` is the execution whose program asked."""

    agent: str
    parent: str
    executions: tuple[str, ...]
    identity: Identity
    is_answered: bool
    usage: ChatUsage


class BudgetSpent(Exception):
    """Ends a turn before its next program. It is no ``Error``: those are shown to the model, which would then go on."""


@dataclass(slots=True, kw_only=True)
class AskBudget:
    """The budget of one question. What agents below use counts for all above them."""

    agent: str
    tokens: int
    depth: int = 1
    above: "AskBudget | None" = None
    own: int = 0
    below: int = 0

    @property
    def used(self) -> int:
        """The tokens that were used so far."""
        return self.own + self.below

    @property
    def left(self) -> int:
        """The tokens that are left, here and above."""
        here = self.tokens - self.used
        return here if self.above is None else min(here, self.above.left)

    def count(self, event: ChatEvent) -> None:
        """Counts what a turn tells.

        Raises:
            BudgetSpent, LimitExceeded: the turn goes on although its budget is spent, or its model does not say what it uses.
        """
        if isinstance(event, UsageCounted):
            tokens = event.usage.input_tokens + event.usage.output_tokens
            added, self.own = tokens - self.own, tokens
            if added <= 0:
                text = f"the model of agent {self.agent} does not count its tokens: for ChatOpenAI, set stream_usage=True"
                raise LimitExceeded(text, limit="tokens", value=self.tokens)
            above = self.above
            while above is not None:
                above.below += added
                above = above.above
        elif self.left <= 0:
            text = (
                f"agent {self.agent} has used {self.used:,} tokens without an answer, and may use {self.tokens:,}: ask for less"
            )
            if isinstance(event, TextDelta | CodeDelta):
                raise LimitExceeded(text, limit="tokens", value=self.tokens)
            raise BudgetSpent(text)
