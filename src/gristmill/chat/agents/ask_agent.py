"""Answers one question of a program by a turn of another model: its own session, its own budget, the same audit tree."""

import json
import re
import uuid
from collections.abc import Callable, Sequence

import anyio
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from msgspec import Struct

from gristmill.chat.agents.agent_budget import Agent, AskBudget, AskedAgent, BudgetSpent
from gristmill.chat.chat_events import ChatAnswer
from gristmill.chat.code_backends import CodeRequest, Listen, RuntimeBackend
from gristmill.chat.fold_history import pack_message
from gristmill.chat.turns.turn_state import ChatTurn
from gristmill.chat.turns.turn_steps import take_turn
from gristmill.errors import Error, ToolFailed
from gristmill.model import Json, Outcome, ToolCall
from gristmill.runtime.runtime import Runtime
from gristmill.runtime.values.kept_conversations import ConversationMessage

JSON_ASKED = "\n\nAnswer with one JSON value and nothing else: a program reads it."
NO_JSON = "That is no JSON ({why}). Answer with the JSON value alone."
_FENCE = re.compile(r"^\s*```(?:json)?\s*\n(.*?)\n?```\s*$", re.DOTALL)


class OpenAgent(Struct, frozen=True, kw_only=True):
    """An agent whose model is open."""

    name: str
    agent: Agent
    model: BaseChatModel
    model_name: str


class UnkeptLog:
    """Stores nothing: what asks for the answer is a program, and it asks again."""

    async def append(self, messages: Sequence[ConversationMessage]) -> None:
        """Stores nothing."""


class NestedBackend(RuntimeBackend):
    """Executes programs of an agent inside the execution that asks. They take no turn of the tenant: that one has its turn."""

    def __init__(self, runtime: Runtime, parent: str, budget: AskBudget, running: dict[str, AskBudget]) -> None:
        super().__init__(runtime)
        self._parent, self._budget, self._nested = parent, budget, running

    async def execute(self, request: CodeRequest, listen: Listen | None) -> Outcome:  # noqa: ARG002
        """Executes one program, whose own questions to agents count for this budget."""
        execution = uuid.uuid4().hex
        self._nested[execution] = self._budget
        try:
            return await self.runtime.execute(
                request.code, session=request.session, context=request.context, resume=request.resume, identity=request.identity,
                conversation=request.conversation, execution_id=execution, parent=self._parent,
            )  # fmt: skip
        finally:
            del self._nested[execution]


async def ask_agent(
    runtime: Runtime, opened: OpenAgent, call: ToolCall, budget: AskBudget, running: dict[str, AskBudget],
    told: Callable[[AskedAgent], None],
) -> Json:  # fmt: skip
    """Returns the answer; ``told`` hears what it cost, also if there is none.

    Raises:
        ToolFailed: there is no answer; says why.
    """
    name, backend = f"ask-{uuid.uuid4().hex}", NestedBackend(runtime, call.execution, budget, running)
    session = await runtime.session_stores.sessions.open(name, identity=call.identity)
    wants_json = bool(call.arguments.get("as_json"))
    question = str(call.arguments["question"]) + (JSON_ASKED if wants_json else "")
    try:
        turn = _begin_turn(opened, call, await runtime.content_masks.mask_message(session, question), session=name, budget=budget)
        is_answered = False
        try:
            with anyio.fail_after(opened.agent.seconds):
                value = await _take_turns(runtime, opened, turn, backend, wants_json=wants_json)
            is_answered = True
        except TimeoutError:
            raise ToolFailed(f"agent {opened.name} did not answer within {opened.agent.seconds:g} s") from None
        except ToolFailed:
            raise
        except BudgetSpent as spent:
            raise ToolFailed(str(spent)) from None
        except Error as error:
            raise ToolFailed(f"agent {opened.name} did not answer: {error.message}") from None
        finally:
            executions = tuple(program.execution for program in turn.programs)
            told(
                AskedAgent(
                    agent=opened.name, parent=call.execution, executions=executions, identity=call.identity,
                    is_answered=is_answered, usage=turn.usage,
                )
            )  # fmt: skip
        return await runtime.content_masks.unmask_answer(session, value)
    finally:
        with anyio.CancelScope(shield=True):
            await runtime.delete_session(name, identity=call.identity)


def _begin_turn(opened: OpenAgent, call: ToolCall, question: str, *, session: str, budget: AskBudget) -> ChatTurn:
    message = ConversationMessage(number=1, turn=1, kind="user", body=pack_message(HumanMessage(question)))
    return ChatTurn(
        conversation=session, number=1, mode=opened.agent.mode, model=opened.model_name, identity=call.identity,
        tell=budget.count, log=UnkeptLog(), next_message=2, nonce=uuid.uuid4().hex, session=session,
        direct=tuple(opened.agent.direct), messages=[message],
    )  # fmt: skip


async def _take_turns(runtime: Runtime, opened: OpenAgent, turn: ChatTurn, backend: RuntimeBackend, *, wants_json: bool) -> Json:
    changed = {"steps": opened.agent.steps, "instructions": opened.agent.instructions, "fallback": "fail"}
    config = runtime.config.chat.model_copy(update=changed)
    for is_last in (False, True):
        answer = await take_turn(turn, opened.model, backend, config)
        await _check_answer(runtime, opened.name, answer)
        if not wants_json:
            return answer.text
        try:
            return _read_json(answer.text)
        except ValueError as error:
            if is_last:
                raise ToolFailed(f"agent {opened.name} answered with no JSON: {answer.text[:200]!r}") from None
            await turn.add("user", pack_message(HumanMessage(NO_JSON.format(why=error))))
    raise AssertionError("the second answer is returned or refused")


async def _check_answer(runtime: Runtime, agent: str, answer: ChatAnswer) -> None:
    if answer.status == "awaiting_approval":
        question = answer.approval or {}
        await runtime.approvals.decide(str(question["approval"]), "none", by="agents")
        tools = ", ".join(sorted({str(group["tool"]) for group in question.get("groups", ())}))
        raise ToolFailed(
            f"agent {agent} wanted calls that need approval ({tools}), and nobody is asked on its behalf: they were not made; "
            "make them in your own program, or allow them in the policy"
        )
    if answer.status != "answered":
        raise ToolFailed(f"agent {agent} did not answer: {answer.text}")


def _read_json(text: str) -> Json:
    found = _FENCE.match(text)
    return json.loads(found[1] if found else text)
