"""Chat for everybody: a message becomes text, programs and calls, and an answer; conversations are kept in the store."""

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Literal, Protocol, TypeVar, overload

from langchain_core.language_models import BaseChatModel

from gristmill.chat.chat_events import ChatAnswer, ChatEvent, ChatMode, TurnAnswered
from gristmill.chat.chat_models import describe_model, open_model
from gristmill.chat.code_backends import Approved, RuntimeBackend
from gristmill.chat.plan_answers import describe_question
from gristmill.chat.turns.kept_turns import KeptTurns, TurnOrder
from gristmill.chat.turns.running_turns import RunningTurn, open_running_turns
from gristmill.chat.turns.stateless_turns import SentConversation, StatelessTurns
from gristmill.chat.turns.turn_state import ChatTurn
from gristmill.config.sections.chat_section import ChatConfig
from gristmill.errors import ConfigError, Conflict, LimitExceeded, UnknownSession
from gristmill.model import LOCAL, Identity, Json
from gristmill.runs.run_arms import RunArms, TurnArm, TurnFigures
from gristmill.runs.served_runs import ServedRuns, open_runs
from gristmill.runtime.choose_identity import choose_identity
from gristmill.runtime.execution.given_values import check_given_values
from gristmill.runtime.runtime import Runtime
from gristmill.runtime.values.kept_conversations import Conversation, ConversationMessage, ConversationTurn

MESSAGE_CHARACTERS = 400_000
"""The longest message of a user."""


Order = TypeVar("Order", TurnOrder, SentConversation)
OrderIn = TypeVar("OrderIn", contravariant=True)


class Turns(Protocol[OrderIn]):
    """Begins turns of one kind and takes them to their end."""

    async def prepare(self, order: OrderIn, running: RunningTurn) -> ChatTurn:
        """Makes a turn ready."""
        ...

    async def work(self, turn: ChatTurn, running: RunningTurn) -> ChatAnswer:
        """Takes a turn to its end."""
        ...


class Chat:
    """A model in front of an open runtime: ``answer = await Chat(runtime, "anthropic:...").send("...", user="ann")``.

    ``model`` is a string of LangChain's ``init_chat_model`` or a chat model; without it and ``mode`` the section ``chat`` of the
    configuration says which. All methods belong to the event loop of the runtime.
    """

    def __init__(
        self, runtime: Runtime, model: str | BaseChatModel | None = None, *, mode: ChatMode | None = None,
        base_url: str | None = None, direct: Sequence[str] | None = None, runs: ServedRuns | None = None,
        config: ChatConfig | None = None, arms: RunArms | None = None,
    ) -> None:  # fmt: skip
        """Opens the model. ``direct`` are the tools (``server.tool``) of the modes ``hybrid`` and ``direct``;
        ``config`` replaces the section ``chat`` of the configuration, ``runs`` are those of a service, and ``arms`` those of a
        rollout, as ``open_arms`` opens them.

        Raises:
            ConfigError: there is no model or no key for it, or the mode needs tools in ``direct``.
        """
        config = config or runtime.config.chat
        self.runtime, self.config = runtime, config
        self.direct = tuple(config.direct if direct is None else direct)
        self.mode: ChatMode = self._check_mode(mode or config.mode)
        chosen = model or config.model
        if not chosen:
            raise ConfigError('no model is named: give one, such as "anthropic:claude-sonnet-5", or set chat.model')
        if isinstance(chosen, str):
            state, address = runtime.config.state_dir, config.base_url if base_url is None else base_url
            self.model_name, self.model = chosen, open_model(chosen, state=state, base_url=address)
        else:
            self.model_name, self.model = describe_model(chosen), chosen
        if arms is not None and runs is None:
            runs = open_runs(runtime)
            runs.arms = arms
        self._running = open_running_turns(runtime)
        backend = RuntimeBackend(runtime, runs, via="chat")
        self._kept = KeptTurns(
            backend=backend, model=self.model, model_name=self.model_name, running=self._running, config=config
        )
        self._stateless = StatelessTurns(
            backend=backend, model=self.model, model_name=self.model_name, running=self._running, config=config
        )
        self._own: set[RunningTurn] = set()
        self._runs, self._armed, self._base_url = runs, dict[str | None, Chat](), base_url
        self._arms = RunArms() if runs is None else runs.arms

    @overload
    async def send(
        self, message: str, *, context: Mapping[str, Json] | None = None, user: str | None = None,
        identity: Identity | None = None, conversation: str | None = None, mode: ChatMode | None = None,
        stream: Literal[False] = False,
    ) -> ChatAnswer: ...  # fmt: skip
    @overload
    async def send(
        self, message: str, *, context: Mapping[str, Json] | None = None, user: str | None = None,
        identity: Identity | None = None, conversation: str | None = None, mode: ChatMode | None = None,
        stream: Literal[True],
    ) -> AsyncGenerator[ChatEvent]: ...  # fmt: skip
    async def send(
        self, message: str, *, context: Mapping[str, Json] | None = None, user: str | None = None,
        identity: Identity | None = None, conversation: str | None = None, mode: ChatMode | None = None,
        stream: bool = False,
    ) -> ChatAnswer | AsyncGenerator[ChatEvent]:  # fmt: skip
        """Sends a message, in a new conversation or in the given one; returns the answer, or the events of the turn.

        An answer ``awaiting_approval`` carries a question: ``decide`` answers it and continues the turn. Closing the events early
        stops the turn, or keeps it running, as ``chat.client_gone`` says. Without ``mode`` a conversation keeps the one it has.

        Raises:
            NotFound: this user has no such conversation.
            Conflict: a turn of it is running.
            Busy: the tenant has too many turns at the same time.
            LimitExceeded: the message or the context is too large.
        """
        if not message.strip():
            raise ConfigError("the message is empty: say what you want to know or to have done")
        if len(message) > MESSAGE_CHARACTERS:
            text = f"a message has at most {MESSAGE_CHARACTERS:,} characters: put large data into files of the session"
            raise LimitExceeded(text, limit="message", value=MESSAGE_CHARACTERS)
        check_given_values("context", context)
        who = self._choose_user(user, identity)
        arm = None if mode is not None else await self._find_arm(who, conversation)
        mode = mode if arm is None or arm.mode is None else self._check_mode(arm.mode)
        order = TurnOrder(
            identity=who, conversation=conversation, text=message, context=dict(context or {}),
            mode=None if mode is None else self._check_mode(mode), default_mode=self.mode, direct=self.direct,
            prompt=None if arm is None else arm.prompt, arm={} if arm is None else arm.to_kept(),
        )  # fmt: skip
        return await self._run(order, self._open_arm(arm)._kept, stream=stream, arm=arm)

    @overload
    async def decide(
        self, conversation: str, approve: Approved, *, by: str | None = None, user: str | None = None,
        identity: Identity | None = None, stream: Literal[False] = False,
    ) -> ChatAnswer: ...  # fmt: skip
    @overload
    async def decide(
        self, conversation: str, approve: Approved, *, by: str | None = None, user: str | None = None,
        identity: Identity | None = None, stream: Literal[True],
    ) -> AsyncGenerator[ChatEvent]: ...  # fmt: skip
    async def decide(
        self, conversation: str, approve: Approved, *, by: str | None = None, user: str | None = None,
        identity: Identity | None = None, stream: bool = False,
    ) -> ChatAnswer | AsyncGenerator[ChatEvent]:  # fmt: skip
        """Answers the question of a turn that waits (``"all"``, ``"none"`` or numbers of calls), and continues it.

        Raises:
            NotFound: this user has no such conversation.
            Conflict: no plan of it waits.
            Refused: the plan has expired, or lacks a call of a given number.
        """
        who = self._choose_user(user, identity)
        arm = await self._find_arm(who, conversation)
        order = TurnOrder(
            identity=who, conversation=conversation, approve=approve, approve_by=by, default_mode=self.mode, direct=self.direct,
            prompt=None if arm is None else arm.prompt,
        )  # fmt: skip
        return await self._go_on(order, arm, stream=stream)

    @overload
    async def resume(
        self, conversation: str, *, user: str | None = None, identity: Identity | None = None, stream: Literal[False] = False
    ) -> ChatAnswer: ...
    @overload
    async def resume(
        self, conversation: str, *, user: str | None = None, identity: Identity | None = None, stream: Literal[True]
    ) -> AsyncGenerator[ChatEvent]: ...
    async def resume(
        self, conversation: str, *, user: str | None = None, identity: Identity | None = None, stream: bool = False
    ) -> ChatAnswer | AsyncGenerator[ChatEvent]:
        """Continues a turn that failed, was stopped, was decided elsewhere, or whose process died.

        What was called is not called again, and the model is not asked again for what it said already.
        """
        who = self._choose_user(user, identity)
        arm = await self._find_arm(who, conversation)
        order = TurnOrder(
            identity=who, conversation=conversation, default_mode=self.mode, direct=self.direct,
            prompt=None if arm is None else arm.prompt,
        )  # fmt: skip
        return await self._go_on(order, arm, stream=stream)

    @overload
    async def complete(
        self, messages: Sequence[tuple[str, str]], *, identity: Identity | None = None, stream: Literal[False] = False
    ) -> ChatAnswer: ...
    @overload
    async def complete(
        self, messages: Sequence[tuple[str, str]], *, identity: Identity | None = None, stream: Literal[True]
    ) -> AsyncGenerator[ChatEvent]: ...
    async def complete(
        self, messages: Sequence[tuple[str, str]], *, identity: Identity | None = None, stream: bool = False
    ) -> ChatAnswer | AsyncGenerator[ChatEvent]:
        """Answers a conversation that is given whole, as pairs of role and text; nothing of it is kept.

        Raises:
            ConfigError: the last message is not the user's.
            Busy: the tenant has too many turns at the same time.
        """
        who = choose_identity(identity)
        order = SentConversation(identity=who, messages=messages, mode=self.mode, direct=self.direct)
        return await self._run(order, self._stateless, stream=stream)

    async def stop(self, conversation: str, *, user: str | None = None, identity: Identity | None = None) -> bool:
        """Stops the running turn, its program included; returns whether one was running here."""
        found = self._running.find(conversation, self._choose_user(user, identity))
        if found is None:
            return False
        found.stop()
        await found.wait_until_ended()
        return True

    def follow(
        self, conversation: str, *, user: str | None = None, identity: Identity | None = None
    ) -> AsyncGenerator[ChatEvent] | None:
        """Returns the events of the turn that runs now, from its beginning; None if none runs. Closing them stops nothing."""
        found = self._running.find(conversation, self._choose_user(user, identity))
        return None if found is None else found.follow()

    async def undo(self, conversation: str, *, user: str | None = None, identity: Identity | None = None) -> bool:
        """Forgets the last turn, so that the model does not see it; what its programs did stays done."""
        found = await self.conversation_of(conversation, user=user, identity=identity)
        if self._running.is_running(conversation):
            raise Conflict("a turn of this conversation is running: stop it first")
        messages = await self._kept.store.messages(conversation, after_turn=found.folded_turns)
        if not messages:
            return False
        await self._kept.store.drop_turn(found, messages[-1].turn)
        return True

    async def conversations(
        self, *, user: str | None = None, identity: Identity | None = None, limit: int = 50, before: float | None = None
    ) -> tuple[Conversation, ...]:
        """Returns the conversations of a user, those used last first; ``before`` (a time) continues after a page."""
        return await self._kept.store.list(self._choose_user(user, identity), limit=limit, before=before)

    async def conversation_of(
        self, conversation: str, *, user: str | None = None, identity: Identity | None = None
    ) -> Conversation:
        """Returns one conversation.

        Raises:
            NotFound: this user has no such conversation.
        """
        return await self._kept.store.find(conversation, self._choose_user(user, identity))

    async def messages(
        self, conversation: str, *, user: str | None = None, identity: Identity | None = None
    ) -> tuple[ConversationMessage, ...]:
        """Returns the messages of a conversation, in order."""
        await self.conversation_of(conversation, user=user, identity=identity)
        return await self._kept.store.messages(conversation)

    async def turns(
        self, conversation: str, *, user: str | None = None, identity: Identity | None = None
    ) -> tuple[ConversationTurn, ...]:
        """Returns the turns of a conversation with what each cost."""
        await self.conversation_of(conversation, user=user, identity=identity)
        return await self._kept.store.turns(conversation)

    async def question(
        self, conversation: str, *, user: str | None = None, identity: Identity | None = None
    ) -> Mapping[str, Json] | None:
        """Returns the question for which a conversation waits, in the form of the event; None if it waits for nothing."""
        found = await self.conversation_of(conversation, user=user, identity=identity)
        plan = await self._kept.find_waiting_plan(found)
        return None if plan is None else describe_question(plan)

    async def delete(self, conversation: str, *, user: str | None = None, identity: Identity | None = None) -> bool:
        """Deletes a conversation, its session and its files; a running turn is stopped before."""
        who = self._choose_user(user, identity)
        await self.stop(conversation, identity=who)
        found = await self._kept.store.find(conversation, who)
        await self._kept.store.delete(found)
        with suppress(UnknownSession):  # no program ran
            await self.runtime.delete_session(name_chat_session(conversation), identity=who)
        return True

    async def close(self) -> None:
        """Stops all turns of this chat; they can be resumed."""
        for chat in self._armed.values():
            await chat.close()
        for turn in tuple(self._own):
            turn.stop()
        for turn in tuple(self._own):
            await turn.wait_until_ended()

    async def _find_arm(self, who: Identity, conversation: str | None) -> TurnArm | None:
        """Returns the arm of a turn; one of a conversation that goes on is that of its first turn, also if that still waits.

        Raises:
            NotFound: this user has no such conversation.
        """
        if not self._arms.is_on:
            return None
        found = await self._arms.choose_turn(who, conversation)
        if found is None and conversation is not None:
            kept = (await self._kept.store.find(conversation, who)).pending or {}
            found = self._arms.restore_turn(kept.get("arm") or {})
        return found

    async def _go_on(self, order: TurnOrder, arm: TurnArm | None, *, stream: bool) -> ChatAnswer | AsyncGenerator[ChatEvent]:
        """Goes on with the last turn of a conversation, by the model of its arm; its outcome is that of the whole turn."""
        turns = await self._kept.store.turns(order.conversation or "") if arm is not None else ()
        return await self._run(order, self._open_arm(arm)._kept, stream=stream, arm=arm, earlier=turns[-1] if turns else None)

    def _open_arm(self, arm: TurnArm | None) -> "Chat":
        """Returns the chat with the model of an arm, which may be this one."""
        model = arm.model if arm is not None else None
        if model in (None, self.model_name):
            return self
        if model not in self._armed:
            self._armed[model] = Chat(
                self.runtime, model, mode=self.mode, direct=self.direct, runs=self._runs, config=self.config,
                base_url=self._base_url,
            )  # fmt: skip
        return self._armed[model]

    async def _run(
        self,
        order: Order,
        turns: Turns[Order],
        *,
        stream: bool,
        arm: TurnArm | None = None,
        earlier: ConversationTurn | None = None,
    ) -> ChatAnswer | AsyncGenerator[ChatEvent]:
        turn = RunningTurn(order.identity)
        self._running.admit(turn)
        try:
            ready = await turns.prepare(order, turn)
        except BaseException:
            self._running.leave(turn)
            turn.end()
            raise
        turn.task = asyncio.create_task(turn.work(turns.work(ready, turn)))
        self._own.add(turn)
        turn.task.add_done_callback(lambda _: self._own.discard(turn))
        turn.task.add_done_callback(partial(self._note_turn, arm, earlier, turn))
        if stream:
            return self._follow_own(turn)
        try:
            return await asyncio.shield(turn.task)
        except asyncio.CancelledError:
            if not turn.task.done():
                self._leave_turn(turn)
            raise

    async def _follow_own(self, turn: RunningTurn) -> AsyncGenerator[ChatEvent]:
        events, is_over = turn.follow(), False
        try:
            async for event in events:
                is_over = isinstance(event, TurnAnswered)
                yield event
        finally:
            await events.aclose()
            if not is_over:
                self._leave_turn(turn)

    def _note_turn(
        self, arm: TurnArm | None, earlier: ConversationTurn | None, turn: RunningTurn, task: asyncio.Task[ChatAnswer]
    ) -> None:
        """Notes what came of a turn; one that was stopped, or waits for a person, says nothing yet."""
        if task.cancelled() or task.exception() is not None or task.result().status not in ("answered", "failed"):
            return
        answer = task.result()
        self.runtime.metrics.count_turn(answer.conversation, used_code=bool(answer.programs))
        part = earlier if earlier is not None and earlier.turn == answer.turn else None
        if arm is None or (part is not None and part.status in ("answered", "failed")):
            return  # what came of it was noted before
        usage = answer.usage if part is None else part.usage + answer.usage
        self._arms.note_turn(
            arm, turn.identity,
            TurnFigures(
                conversation=answer.conversation, turn=answer.turn, failed=answer.status == "failed",
                status="ok" if answer.status == "answered" else answer.problem.code if answer.problem else "failed",
                seconds=time.monotonic() - turn.began + (part.ms / 1000 if part is not None else 0.0),
                first_seconds=None if part is not None else turn.first_seconds, tokens_in=usage.input_tokens,
                tokens_out=usage.output_tokens, tokens_cached=usage.cached_tokens,
                dollars=usage.money or 0.0, programs=len(answer.programs) + (len(part.executions) if part is not None else 0),
                approvals=int(part is not None and part.status == "awaiting_approval"), fallback=answer.fallback,
            ),
        )  # fmt: skip

    def _leave_turn(self, turn: RunningTurn) -> None:
        if self.config.client_gone == "stop":
            turn.stop()

    def _choose_user(self, user: str | None, identity: Identity | None) -> Identity:
        return choose_identity(identity, caller=user, tenant=None if user is None else LOCAL)

    def _check_mode(self, mode: str) -> ChatMode:
        if mode not in ("code", "hybrid", "direct", "auto", "blocks"):
            raise ConfigError(f"there is no mode {mode!r}; there are code, hybrid, direct, auto and blocks")
        if mode in ("hybrid", "direct") and not self.direct:
            raise ConfigError(f'mode "{mode}" offers tools directly: name them, such as direct=["crm.find"], or set chat.direct')
        return mode


def name_chat_session(conversation: str) -> str:
    """Returns the name of the session in which the programs of a conversation run: its files are there."""
    return f"chat-{conversation}"
