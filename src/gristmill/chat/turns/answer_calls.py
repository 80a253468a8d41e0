"""Answers the calls of a model: a search, a program, or a tool that is offered directly; each is run once, under its key."""

import dataclasses
import hashlib
from collections.abc import Collection, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace as replace_fields

from gristmill.chat.ask_model import Tell
from gristmill.chat.chat_events import (
    ApprovalNeeded,
    ChatProgram,
    NestedCallFinished,
    NestedCallStarted,
    ProgramFinished,
    ProgramPrinted,
    ProgramStarted,
    ToolsSearched,
    TurnNoted,
)
from gristmill.chat.code_backends import CodeRequest, RuntimeBackend
from gristmill.chat.filled_arguments import fill_arguments
from gristmill.chat.fold_history import KEPT_RESULT_CHARACTERS, OUTCOMES_FOLDER, fold_result
from gristmill.chat.mode_prompts import BLOCKS_CUT, BLOCKS_OUTCOME, DIRECT_PROGRAM, EXECUTE, NO_CODE, SEARCH, SearchInput
from gristmill.chat.plan_answers import describe_question
from gristmill.chat.turns.turn_state import BLOCK, ChatTurn, OpenCall, build_result
from gristmill.errors import Error, SandboxError, StoreUnavailable
from gristmill.harmless_text import neutralize_text
from gristmill.model import Outcome, Tool
from gristmill.runs.texts.outcome_text import render_text
from gristmill.runtime.hints.give_hints import explain_error

MOST_QUESTIONS = 20
"""How often one call may ask for approval."""


class WaitingPlan(Struct, frozen=True):
    """A call whose plan waits for a person."""

    approval: str
    question: Mapping[str, Any]


class CallAnswerer:
    """Answers calls with the backend; ``direct`` are the tools that the model may call by these names.

    Their arguments in ``fill`` come from the context of the turn.
    """

    def __init__(
        self, backend: RuntimeBackend, direct: Mapping[str, Tool], *, fill: Collection[str], fails_without_code: bool
    ) -> None:  # fmt: skip
        self._backend, self._direct, self._fill, self._fails = backend, direct, fill, fails_without_code

    async def answer(self, turn: ChatTurn, call: OpenCall) -> WaitingPlan | None:
        """Answers one call and adds the result to the turn; returns the plan if the call waits for approval.

        Raises:
            SandboxError, StoreUnavailable: code cannot be run, and the configuration wants the turn to fail then.
        """
        if call.problem is not None:
            text = BLOCKS_CUT.format(text=call.problem) if call.id == BLOCK else f"this call was not made: {call.problem}"
            await self._add_failure(turn, call, text, f"{call.name} {call.problem}")
            return None
        try:
            if call.name == SEARCH:
                await self._search(turn, call)
                return None
            if call.name != EXECUTE and call.name not in self._direct:
                raise Error(f"there is no tool {call.name[:80]!r}; there are {', '.join((SEARCH, EXECUTE, *self._direct))}")
            return await self._execute(turn, call)
        except (SandboxError, StoreUnavailable) as error:
            if self._fails:
                raise
            turn.fallback, turn.why = True, f"{error.code}: {error.message}"
            turn.tell(TurnNoted(text=f"programs cannot be run now, so the model answers without: {error.message}"))
            await self._add_failure(turn, call, NO_CODE.format(why=error.code), error.code)
        except Error as error:
            hint = explain_error(error.code, error.message)
            text = neutralize_text(f"{error.code}: {error.message}") + (f"\nhint: {hint}" if hint else "")
            await self._add_failure(turn, call, text, text)
        return None

    async def _search(self, turn: ChatTurn, call: OpenCall) -> None:
        try:
            asked = SearchInput.model_validate(dict(call.arguments))
        except ValueError:
            raise Error('search_tools takes {"query": "what the tool should do"}') from None
        request = CodeRequest(session=turn.session, identity=turn.identity)
        found = await self._backend.search(asked.query, detail_level=asked.detail_level, limit=asked.limit, request=request)
        turn.tell(ToolsSearched(query=asked.query, found=found.keys))
        short = f"found: {', '.join(found.keys) or 'nothing'} (search again for imports and signatures)"
        folded = short if len(found.text) > KEPT_RESULT_CHARACTERS else found.text
        await turn.add("result", build_result(call, found.text), build_result(call, folded))
        if found.keys:
            turn.forget_failures()

    async def _execute(self, turn: ChatTurn, call: OpenCall) -> WaitingPlan | None:
        number, tool = turn.next_program, self._direct.get(call.name)
        request = _build_request(turn, call, tool, self._fill)
        if tool is None and not (request.code or request.resume):
            raise Error('execute_code takes {"code": "a Python program"}')
        began = turn.clock()
        turn.tell(ProgramStarted(program=number, code=request.code or "", tool=tool.key if tool is not None else None))
        listen = ProgramListener(turn.tell, number)
        outcome = await self._execute_decided(request, listen)
        shown = render_text(replace_outcome(outcome))
        made = ChatProgram(
            number=number, execution=outcome.id, code=request.code if tool is None and request.code else call.name,
            status=outcome.status, tools_called=outcome.tools_called, ms=(turn.clock() - began) * 1000,
        )  # fmt: skip
        turn.programs.append(made)
        turn.tell(ProgramFinished(program=number, execution=outcome.id, status=outcome.status, text=shown, ms=made.ms))
        if outcome.status == "awaiting_approval" and outcome.plan is not None:
            question = describe_question(outcome.plan)
            turn.tell(ApprovalNeeded(program=number, question=question))
            return WaitingPlan(outcome.plan.id, question)
        await self._add_outcome(turn, call, outcome, shown)
        return None

    async def _execute_decided(self, request: CodeRequest, listen: "ProgramListener") -> Outcome:
        """Executes, and goes on with each plan that was decided: every step has its own key, so one that took place is found."""
        outcome = await self._backend.execute(request, listen)
        for number in range(1, MOST_QUESTIONS + 1):
            if outcome.status != "awaiting_approval" or outcome.plan is None:
                break
            approval = await self._backend.runtime.approvals.get(outcome.plan.id, tenant=request.identity.tenant)
            if approval.standing == "pending":
                break
            resumed = replace_fields(
                request, code=None, context={}, session=None, resume=outcome.id, key=f"{request.key}/{number}"
            )
            outcome = await self._backend.execute(resumed, listen)
        return outcome

    async def _add_outcome(self, turn: ChatTurn, call: OpenCall, outcome: Outcome, shown: str) -> None:
        path = await self._keep_whole(turn, outcome, shown) if len(shown) > KEPT_RESULT_CHARACTERS else None
        folded = fold_result(shown, path)
        body = build_result(call, shown, is_error=not outcome.success, block_text=BLOCKS_OUTCOME.format(text=shown))
        await turn.add("result", body, build_result(call, folded, is_error=not outcome.success, block_text=folded))
        if outcome.success:
            turn.forget_failures()
        else:
            lines = (outcome.error or "").strip().splitlines()
            turn.count_failure(f"{outcome.status} {outcome.error_type} {lines[-1] if lines else ''}")

    async def _keep_whole(self, turn: ChatTurn, outcome: Outcome, shown: str) -> str | None:
        """Writes a long result into a file of the session, for programs of later turns; returns its path."""
        if turn.session is None:
            return None
        path = f"{OUTCOMES_FOLDER}/{outcome.id[:12]}.txt"
        try:
            await self._backend.upload(turn.session, path, shown.encode("utf-8", "replace"), identity=turn.identity)
        except Error:  # the workspace is full, say: the result was shown whole in its turn
            return None
        return path

    async def _add_failure(self, turn: ChatTurn, call: OpenCall, text: str, signature: str) -> None:
        await turn.add(
            "result", build_result(call, text, is_error=True), build_result(call, fold_result(text, None), is_error=True)
        )
        turn.count_failure(signature)


def replace_outcome(outcome: Outcome) -> Outcome:
    """Returns the outcome without the session, which the model does not choose."""
    return dataclasses.replace(outcome, session=None)


class ProgramListener:
    """Tells the events of one program."""

    def __init__(self, tell: Tell, program: int) -> None:
        self._tell, self._program = tell, program
        self._began: dict[int, float] = {}

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Tells one event, in the form in which runs keep it."""
        match event.get("type"):
            case "output":
                self._tell(ProgramPrinted(program=self._program, text=neutralize_text(str(event["text"]))))
            case "call_started":
                self._began[event["call"]] = event["at"]
                self._tell(NestedCallStarted(program=self._program, call=event["call"], tool=neutralize_text(event["tool"])))
            case "call_finished":
                ms = (event["at"] - self._began.pop(event["call"], event["at"])) * 1000
                tool = neutralize_text(event["tool"])
                self._tell(NestedCallFinished(program=self._program, call=event["call"], tool=tool, ok=event["ok"], ms=ms))
            case _:
                pass


def _build_request(turn: ChatTurn, call: OpenCall, tool: Tool | None, fill: Collection[str]) -> CodeRequest:
    key = hashlib.sha256("\0".join(("chat", turn.conversation, turn.nonce, str(call.message), call.id)).encode()).hexdigest()
    request = CodeRequest(
        session=turn.session, context=turn.context, identity=turn.identity, key=key, conversation=f"chat {turn.conversation}"
    )
    if tool is not None:
        asked: dict[str, Any] = {"tool": tool.key, "arguments": fill_arguments(tool, call.arguments, turn.context, fill)}
        return replace_fields(request, code=DIRECT_PROGRAM, context=asked, session=None)
    code, resume = call.arguments.get("code"), call.arguments.get("resume")
    resumed = resume if isinstance(resume, str) and resume else None
    return replace_fields(
        request, code=code if isinstance(code, str) and code.strip() else None, resume=resumed,
        session=None if resumed else request.session,
    )  # fmt: skip
