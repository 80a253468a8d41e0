"""The two tools for LangChain: ``search_tools`` and ``execute_code``, with streams, approvals, and one execution per call."""

import dataclasses
from collections.abc import Awaitable, Generator, Mapping
from functools import partial
from typing import Any

import msgspec
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from msgspec import Struct, field
from msgspec.structs import replace
from pydantic import BaseModel

from gristmill.chat.code_backends import CodeBackend, CodeRequest, SearchedTools
from gristmill.chat.mode_prompts import EXECUTE, EXECUTE_TEXT, SEARCH, SEARCH_TEXT, ExecuteInput, SearchInput
from gristmill.errors import Error
from gristmill.harmless_text import neutralize_text
from gristmill.model import Outcome
from gristmill.runs.texts.outcome_text import render_text
from gristmill.runtime.hints.give_hints import explain_error
from gristmill.runtime.values.search_values import DetailLevel
from gristmill.serve.langchain.approval_interrupt import PlanAnswer, ask_about_plan
from gristmill.serve.langchain.call_surroundings import AnyToolRuntime, CodeOptions, build_request, can_interrupt
from gristmill.serve.langchain.loop_bridge import LoopBridge, Send, Work
from gristmill.serve.langchain.nested_calls import NestedCall, NestedRunner

MOST_QUESTIONS = 20
"""How often one call may ask for approval."""
Content = tuple[str, dict[str, Any]]
NO_RUNTIME: Any = None
"""What a tool gets outside of a graph. LangGraph recognises the parameter by its type, which must not be a union."""


class ToolSource(Struct, frozen=True, kw_only=True):
    """Where the tools run code, how, and which plain tools of the agent programs may call."""

    backend: CodeBackend
    bridge: LoopBridge
    options: CodeOptions = CodeOptions()
    plain_tools: Mapping[str, BaseTool] = field(default_factory=dict[str, BaseTool])


def build_search_tool(source: ToolSource) -> StructuredTool:
    """Builds ``search_tools``; its artifact holds the keys that were found."""

    async def search(query: str, detail_level: DetailLevel, limit: int, request: CodeRequest) -> SearchedTools:
        return await source.backend.search(query, detail_level=detail_level, limit=limit, request=request)

    def run(query: str, detail_level: DetailLevel = "full", limit: int = 5, runtime: AnyToolRuntime = NO_RUNTIME) -> Content:
        request = build_request(source.options, runtime)
        try:
            return _answer_search(source.bridge.run(lambda _: search(query, detail_level, limit, request), _ignore))
        except Error as error:
            raise build_tool_error(error) from error

    async def arun(
        query: str, detail_level: DetailLevel = "full", limit: int = 5, runtime: AnyToolRuntime = NO_RUNTIME
    ) -> Content:
        request = build_request(source.options, runtime)
        try:
            return _answer_search(await source.bridge.arun(lambda _: search(query, detail_level, limit, request), _ignore))
        except Error as error:
            raise build_tool_error(error) from error

    return _build_tool(SEARCH, SEARCH_TEXT, SearchInput, run, arun)


def build_execute_tool(source: ToolSource) -> StructuredTool:
    """Builds ``execute_code``; its artifact is the outcome, in the form of ``POST /execute``."""

    def build_program(code: str, resume: str | None, runtime: AnyToolRuntime | None) -> CodeRequest:
        return build_request(source.options, runtime, code=code or None, resume=resume)

    def run(code: str, resume: str | None = None, runtime: AnyToolRuntime = NO_RUNTIME) -> Content:
        return execute_in_graph(source, build_program(code, resume, runtime), runtime)

    async def arun(code: str, resume: str | None = None, runtime: AnyToolRuntime = NO_RUNTIME) -> Content:
        return await aexecute_in_graph(source, build_program(code, resume, runtime), runtime)

    return _build_tool(EXECUTE, EXECUTE_TEXT, ExecuteInput, run, arun)


def execute_in_graph(source: ToolSource, request: CodeRequest, runtime: AnyToolRuntime | None) -> Content:
    """Executes, and interrupts the graph where calls need approval; what ran before under the same key is not run again."""
    steps = _take_steps(source, request, runtime)
    handle = _Handler(source, runtime)
    try:
        step = next(steps)
        while True:
            step = steps.send(source.bridge.run(step, handle.run))
    except StopIteration as end:
        return _answer_outcome(*end.value)
    except Error as error:
        raise build_tool_error(error) from error


async def aexecute_in_graph(source: ToolSource, request: CodeRequest, runtime: AnyToolRuntime | None) -> Content:
    """Does the same for a caller on an event loop."""
    steps = _take_steps(source, request, runtime)
    handle = _Handler(source, runtime)
    try:
        step = next(steps)
        while True:
            step = steps.send(await source.bridge.arun(step, handle.arun))
    except StopIteration as end:
        return _answer_outcome(*end.value)
    except Error as error:
        raise build_tool_error(error) from error


Steps = Generator[Work[Any], Any, tuple[Outcome, str | None]]
"""Yields work for the backend, gets its results, and returns the outcome with what is to be said about it."""


def _take_steps(source: ToolSource, request: CodeRequest, runtime: AnyToolRuntime | None) -> Steps:
    """Executes, asks, decides, resumes. LangGraph runs a tool again from its start after each answer: every execution has a key
    of its own, so one that took place is found, not repeated."""
    problem: str | None = None
    outcome: Outcome = yield partial(_execute, source, request, runtime is not None)
    for number in range(1, MOST_QUESTIONS + 1):
        if outcome.status != "awaiting_approval" or outcome.plan is None or not can_interrupt(runtime):
            break
        answer = ask_about_plan(outcome.plan)
        problem = answer.problem
        yield partial(_send_decision, source, request, outcome.plan.id, answer)
        key = None if request.key is None else f"{request.key}/{number}"
        resumed = replace(request, code=None, context={}, session=None, resume=outcome.id, key=key)
        outcome = yield partial(_execute, source, resumed, True)
    return outcome, problem


async def _execute(source: ToolSource, request: CodeRequest, listens: bool, send: Send) -> Outcome:
    return await source.backend.execute(request, send if listens else None)


async def _send_decision(source: ToolSource, request: CodeRequest, approval: str, answer: PlanAnswer, _send: Send) -> None:
    await source.backend.decide(approval, answer.approve, by=answer.by, identity=request.identity)


class _Handler:
    """Handles what a running program sends: events go to LangGraph's streams, nested calls to the agent."""

    def __init__(self, source: ToolSource, runtime: AnyToolRuntime | None) -> None:
        self._runtime, self._runner = runtime, NestedRunner(source.plain_tools)

    def run(self, item: Any) -> None:
        if isinstance(item, NestedCall):
            self._runner.run(item)
        else:
            self._stream(item)

    def arun(self, item: Any) -> Awaitable[object] | None:
        if isinstance(item, NestedCall):
            return self._runner.arun(item)
        self._stream(item)
        return None

    def _stream(self, event: Mapping[str, Any]) -> None:
        if self._runtime is None:
            return
        self._runtime.stream_writer({"source": "gristmill", "tool_call_id": self._runtime.tool_call_id, **event})
        self._runtime.emit_output_delta(event["text"] if event["type"] == "output" else dict(event))


def _answer_outcome(outcome: Outcome, problem: str | None) -> Content:
    text = render_text(dataclasses.replace(outcome, session=None))  # the model does not choose sessions
    return (f"{problem}\n{text}" if problem else text), msgspec.json.decode(msgspec.json.encode(outcome))


def _answer_search(found: SearchedTools) -> Content:
    return found.text, {"tools": list(found.keys)}


def build_tool_error(error: Error) -> ToolException:
    """Returns an error of ours as the error of a tool, which the model reads."""
    hint = explain_error(error.code, error.message)
    return ToolException(neutralize_text(f"{error.code}: {error.message}") + (f"\nhint: {hint}" if hint else ""))


def _build_tool(name: str, text: str, schema: type[BaseModel], run: Any, arun: Any) -> StructuredTool:
    return StructuredTool.from_function(
        func=run, coroutine=arun, name=name, description=text, args_schema=schema, response_format="content_and_artifact",
        handle_tool_error=True,
    )  # fmt: skip


def _ignore(_item: Any) -> None:
    """Ignores what a search sends: nothing."""
