"""Begins and ends turns of kept conversations: each is worked on by one process, and recorded with what it cost."""

import asyncio
import logging
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from msgspec import Struct, field

from gristmill.chat.chat_events import ChatAnswer, ChatMode, ChatProblem, ToolsSearched, TurnAnswered, TurnBegan
from gristmill.chat.code_backends import Approved, CodeRequest, RuntimeBackend
from gristmill.chat.fold_history import pack_message, shorten_line
from gristmill.chat.mode_prompts import QUESTION_CHARACTERS, SEARCH
from gristmill.chat.turns.running_turns import RunningTurn, RunningTurns
from gristmill.chat.turns.turn_state import NOT_RUN, ChatTurn, build_result, list_open_calls
from gristmill.chat.turns.turn_steps import take_turn
from gristmill.config.sections.chat_section import ChatConfig
from gristmill.errors import Conflict, Error, ModelBusy
from gristmill.model import Identity, Json, Plan
from gristmill.runtime.values.kept_conversations import Conversation, ConversationMessage, ConversationTurn, Standing

log = logging.getLogger(__name__)
INTERNAL = "internal"
INTERNAL_TEXT = "the turn failed inside Gristmill: its log says why"
STOPPED = "cancelled"


class TurnOrder(Struct, frozen=True, kw_only=True):
    """What a turn is asked to do: to answer a ``message``, to go on after a decision (``approve``), or to go on."""

    identity: Identity
    conversation: str | None
    default_mode: ChatMode
    direct: tuple[str, ...] = ()
    text: str | None = None
    context: Mapping[str, Json] = field(default_factory=dict[str, Json])
    mode: ChatMode | None = None
    prompt: str | None = None
    """What replaces our own instructions."""
    arm: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """What the conversation keeps of its arm of a rollout."""
    approve: Approved | None = None
    approve_by: str | None = None


class ConversationLog(Struct, frozen=True):
    """Stores the messages of a turn in its conversation."""

    store: Any
    conversation: str
    holder: str

    async def append(self, messages: Sequence[ConversationMessage]) -> None:
        """Stores messages."""
        await self.store.append(self.conversation, self.holder, messages)


class KeptTurns:
    """Turns of conversations in the store."""

    def __init__(
        self, *, backend: RuntimeBackend, model: BaseChatModel, model_name: str, running: RunningTurns, config: ChatConfig
    ) -> None:
        self.backend, self._model, self._model_name, self._running = backend, model, model_name, running
        self._config = config
        self.store = backend.runtime.session_stores.conversations
        self._holder = backend.runtime.process_id

    async def prepare(self, order: TurnOrder, running: RunningTurn) -> ChatTurn:
        """Claims the conversation and stores the message; afterwards the turn can be continued by any process.

        Raises:
            NotFound: the caller has no such conversation.
            Conflict: a turn of it runs, or there is nothing to decide or to continue.
            Refused: the decision cannot be taken.
        """
        if order.conversation is None:
            mode = order.mode or order.default_mode
            found = await self.store.begin(
                order.identity, title=order.text or "", model=self._model_name, mode=mode, holder=self._holder
            )
            self._running.attach(found.id, running)
            return await self._begin_claimed(found, order, running)
        found = await self.store.find(order.conversation, order.identity)
        if found.standing == "running" and not await self._is_free(found):
            raise Conflict("a turn of this conversation is running: wait for its end, or stop it")
        if order.approve is not None:
            await self._decide(found, order)
        self._running.attach(found.id, running)
        found = await self.store.claim(found, self._holder)
        return await self._begin_claimed(found, order, running)

    async def work(self, turn: ChatTurn, running: RunningTurn) -> ChatAnswer:
        """Takes the turn to its end, whatever that is, and records it."""
        turn.tell(TurnBegan(conversation=turn.conversation, turn=turn.number, model=turn.model, mode=turn.mode, why=turn.why))
        answer = turn.build_answer("failed", "", problem=ChatProblem(code=INTERNAL, message=INTERNAL_TEXT))
        try:
            answer = await take_guarded_turn(turn, self._model, self.backend, self._config)
        finally:
            finishing = asyncio.create_task(self._finish(turn, running, answer))
            while not finishing.done():
                with suppress(asyncio.CancelledError):  # a turn may be stopped more than once
                    await asyncio.shield(finishing)
        return answer

    async def _finish(self, turn: ChatTurn, running: RunningTurn, answer: ChatAnswer) -> None:
        standing: Standing = "awaiting_approval" if answer.status == "awaiting_approval" else "idle"
        record = ConversationTurn(
            turn=turn.number, at=turn.began, ms=(turn.clock() - turn.started) * 1000, status=answer.status, mode=turn.mode,
            model=turn.model, executions=tuple(program.execution for program in turn.programs), usage=turn.usage,
        )  # fmt: skip
        try:
            await self.store.release(
                turn.conversation, self._holder, standing=standing, turn=record, turns=turn.number, mode=turn.mode,
                folded=turn.folded_turns,
            )  # fmt: skip
        except Error as error:
            log.warning("the end of a turn could not be recorded: %s", error)
        finally:
            self._running.leave(running)
            turn.tell(TurnAnswered(answer=answer))
            running.end()

    async def _is_free(self, found: Conversation) -> bool:
        """Returns whether the process that held the conversation no longer works on it."""
        if found.holder in (None, self._holder):
            return not self._running.is_running(found.id)
        return await self.backend.runtime.has_ended(found.holder)

    async def _decide(self, found: Conversation, order: TurnOrder) -> None:
        plan = await self.find_waiting_plan(found)
        if plan is None or order.approve is None:
            raise Conflict("no plan of this conversation waits for a decision")
        await self.backend.decide(plan.id, order.approve, by=order.approve_by, identity=order.identity)

    async def find_waiting_plan(self, found: Conversation) -> Plan | None:
        """Returns the plan of the last execution of the conversation, if it waits."""
        if found.standing != "awaiting_approval":
            return None
        turns = await self.store.turns(found.id)
        for execution in reversed(turns[-1].executions if turns else ()):
            outcome = await self.backend.runtime.outcome(execution, identity=found.owner)
            if outcome is not None and outcome.plan is not None:
                return outcome.plan
        return None

    async def _begin_claimed(self, found: Conversation, order: TurnOrder, running: RunningTurn) -> ChatTurn:
        try:
            turn = await self._load_turn(found, order, running)
            await self._choose_mode(turn, order)
        except BaseException:
            await asyncio.shield(self._give_back(found))
            raise
        return turn

    async def _give_back(self, found: Conversation) -> None:
        """Gives a conversation back as it was, because its turn cannot begin."""
        standing: Standing = "idle" if found.standing == "running" else found.standing
        await self.store.unclaim(found.id, self._holder, standing)

    async def _load_turn(self, found: Conversation, order: TurnOrder, running: RunningTurn) -> ChatTurn:
        messages = await self.store.messages(found.id)
        last = messages[-1].turn if messages else 0
        is_new = order.text is not None
        if not is_new and not last:
            raise Conflict("this conversation has no turn to continue: send a message")
        number = last + 1 if is_new else last
        pending: Mapping[str, Any] = found.pending or {}
        mode: ChatMode = order.mode or found.mode  # type: ignore[assignment]
        turn = ChatTurn(
            conversation=found.id, number=number, mode=mode, model=self._model_name, identity=order.identity, tell=running.tell,
            prompt=order.prompt,
            log=ConversationLog(self.store, found.id, self._holder), next_message=messages[-1].number + 1 if messages else 1,
            nonce=uuid.uuid4().hex if is_new else str(pending.get("nonce", "")), session=f"chat-{found.id}",
            context=order.context if is_new else pending.get("context", {}),
            direct=order.direct if mode in ("hybrid", "direct") else (), why=pending.get("why", "") if not is_new else "",
            history=[each for each in messages if each.turn < number], folded_turns=found.folded_turns,
            messages=[each for each in messages if each.turn == number],
        )  # fmt: skip
        if is_new:
            await self._close_last_turn(turn, messages, in_blocks=found.mode == "blocks")
            return turn
        turn.earlier_programs = sum(
            each.kind == "result" and each.body.get("data", {}).get("name") != SEARCH for each in turn.messages
        )
        turn.direct = tuple(pending.get("direct", turn.direct))
        if not list_open_calls(turn.messages, in_blocks=mode == "blocks") and turn.messages[-1].kind == "model":
            raise Conflict("the last turn of this conversation was answered: send a message")
        return turn

    async def _close_last_turn(self, turn: ChatTurn, messages: Sequence[ConversationMessage], *, in_blocks: bool) -> None:
        """Answers the calls that a turn left open before, because providers accept no call without a result."""
        last = [each for each in messages if each.turn == turn.number - 1]
        closing: list[ConversationMessage] = []
        for call in list_open_calls(last, in_blocks=in_blocks):
            body = build_result(call, NOT_RUN, is_error=True)
            number = turn.next_message
            closing.append(ConversationMessage(number=number, turn=turn.number - 1, kind="result", body=body))
            turn.next_message += 1
        if closing:
            await turn.log.append(closing)
            turn.history = [*turn.history, *closing]

    async def _choose_mode(self, turn: ChatTurn, order: TurnOrder) -> None:
        """Chooses the mode of a new turn, and stores its message with what another process needs to go on."""
        if order.text is None:
            return
        if turn.mode == "auto":
            await self._choose_by_accounts(turn, order.text)
        kept: dict[str, Json] = {
            "context": dict(turn.context), "direct": list(turn.direct), "why": turn.why, "nonce": turn.nonce,
            "arm": dict(order.arm),
        }  # fmt: skip
        await self.store.set_pending(turn.conversation, self._holder, kept)
        text = order.text
        if turn.context:
            text += f"\n\n(`context` has: {', '.join(map(str, turn.context))})"
        folded = pack_message(HumanMessage(text))
        if turn.mode == "blocks":
            text += await self._find_tools(turn, order.text)
        await turn.add("user", pack_message(HumanMessage(text)), folded)

    async def _choose_by_accounts(self, turn: ChatTurn, question: str) -> None:
        profile = self._model.profile or {}
        if profile.get("tool_calling") is False:
            turn.mode, turn.why = "blocks", "the model has no tool calling"
            return
        chosen = await self.backend.choose_mode(question[:QUESTION_CHARACTERS], identity=turn.identity)
        turn.why, turn.direct = chosen.why, chosen.tools

    async def _find_tools(self, turn: ChatTurn, question: str) -> str:
        """Returns the tools for a question as text: a model without tool calling cannot search."""
        request = CodeRequest(session=turn.session, identity=turn.identity)
        found = await self.backend.search(question[:QUESTION_CHARACTERS], detail_level="full", limit=5, request=request)
        turn.tell(ToolsSearched(query=shorten_line(question), found=found.keys))
        return f"\n\nTools that can be imported in a ```run block:\n\n{found.text}" if found.keys else ""


async def take_guarded_turn(turn: ChatTurn, model: BaseChatModel, backend: RuntimeBackend, config: ChatConfig) -> ChatAnswer:
    """Takes the steps of a turn; that it is stopped or fails is an answer, too."""
    try:
        await asyncio.sleep(0)  # a turn that was stopped before it began ends here, before its model is asked
        return await take_turn(turn, model, backend, config)
    except asyncio.CancelledError:
        return turn.build_answer("stopped", "", problem=ChatProblem(code=STOPPED, message="the turn was stopped"))
    except Error as error:
        after = error.retry_after if isinstance(error, ModelBusy) else None
        problem = ChatProblem(code=error.code, message=error.message, retry_after=after)
        return turn.build_answer("failed", error.message, problem=problem)
    except Exception:  # the client and the conversation must learn that the turn is over
        log.exception("a turn of a conversation failed")
        return turn.build_answer("failed", INTERNAL_TEXT, problem=ChatProblem(code=INTERNAL, message=INTERNAL_TEXT))
