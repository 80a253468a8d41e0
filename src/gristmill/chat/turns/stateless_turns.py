"""Turns whose whole conversation the client sends each time, as clients of OpenAI's protocol do; nothing of them is kept."""

import uuid
from collections.abc import Mapping, Sequence

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from msgspec import Struct

from gristmill.chat.chat_events import ChatAnswer, ChatMode, TurnAnswered, TurnBegan
from gristmill.chat.code_backends import RuntimeBackend
from gristmill.chat.fold_history import pack_message
from gristmill.chat.turns.kept_turns import take_guarded_turn
from gristmill.chat.turns.running_turns import RunningTurn, RunningTurns
from gristmill.chat.turns.turn_state import ChatTurn
from gristmill.config.sections.chat_section import ChatConfig
from gristmill.errors import ConfigError
from gristmill.model import Identity, Json
from gristmill.runtime.values.kept_conversations import ConversationMessage


class SentConversation(Struct, frozen=True, kw_only=True):
    """A conversation as a client sent it: pairs of a role (``system``, ``user``, ``assistant``) and a text."""

    identity: Identity
    messages: Sequence[tuple[str, str]]
    mode: ChatMode
    direct: tuple[str, ...] = ()
    context: Mapping[str, Json] | None = None


class NoLog:
    """Stores nothing."""

    async def append(self, messages: Sequence[ConversationMessage]) -> None:
        """Forgets messages."""


class StatelessTurns:
    """Turns that leave nothing behind but their executions."""

    def __init__(
        self, *, backend: RuntimeBackend, model: BaseChatModel, model_name: str, running: RunningTurns, config: ChatConfig
    ) -> None:
        self._backend, self._model, self._model_name, self._running = backend, model, model_name, running
        self._config = config

    async def prepare(self, order: SentConversation, running: RunningTurn) -> ChatTurn:
        """Builds the turn: the last message is the question, those before it are history.

        Raises:
            ConfigError: the last message is not the user's.
        """
        said = [(role, text) for role, text in order.messages if role != "system"]
        if not said or said[-1][0] != "user":
            raise ConfigError("the last message must be one of the role user")
        stored = [_pack(number, role, text) for number, (role, text) in enumerate(said, 1)]
        id_ = uuid.uuid4().hex
        self._running.attach(id_, running)
        mode, direct, why = order.mode, order.direct if order.mode in ("hybrid", "direct") else (), ""
        if mode == "auto":
            chosen = await self._backend.choose_mode(said[-1][1][:2_000], identity=order.identity)
            direct, why = chosen.tools, chosen.why
        return ChatTurn(
            conversation=id_, number=len(stored), mode=mode, model=self._model_name, identity=order.identity, tell=running.tell,
            log=NoLog(), next_message=len(stored) + 1, nonce=id_, context=dict(order.context or {}), direct=direct, why=why,
            history=stored[:-1], messages=stored[-1:],
            instructions="\n\n".join(text for role, text in order.messages if role == "system"),
        )  # fmt: skip

    async def work(self, turn: ChatTurn, running: RunningTurn) -> ChatAnswer:
        """Takes the turn to its end."""
        turn.tell(TurnBegan(conversation="", turn=turn.number, model=turn.model, mode=turn.mode, why=turn.why))
        try:
            answer = await take_guarded_turn(turn, self._model, self._backend, self._config)
            turn.tell(TurnAnswered(answer=answer))
        finally:
            self._running.leave(running)
            running.end()
        return answer


def _pack(number: int, role: str, text: str) -> ConversationMessage:
    message = HumanMessage(text) if role == "user" else AIMessage(text)
    return ConversationMessage(
        number=number, turn=number, kind="user" if role == "user" else "model", body=pack_message(message)
    )  # fmt: skip
