"""Offers plain tools of LangChain to programs: they are called where the agent runs, through the agent's own tool middleware."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, cast

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import set_config_context
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest
from msgspec import Struct

from gristmill.errors import ToolFailed
from gristmill.model import Json, ToolCall
from gristmill.runtime.values.server_values import DescribedFunction
from gristmill.serve.langchain.loop_bridge import AnsweredItem, Send

_SCRATCHPAD = "__pregel_scratchpad"
_NOT_NESTED = (_SCRATCHPAD, "__pregel_checkpointer")
ASKS_A_PERSON = "the tool interrupts the graph, which a call from a program cannot: let the policy ask about it instead"


class AgentCall(Struct, frozen=True):
    """The call of ``execute_code`` that is being answered: its request, and the agent's way to run a tool."""

    request: ToolCallRequest
    handler: Callable[[ToolCallRequest], Any]


class NestedCall(AnsweredItem):
    """A call of a plain tool by a program; ``answer`` is for its result."""

    def __init__(self, tool: str, arguments: Mapping[str, Json]) -> None:
        super().__init__()
        self.tool, self.arguments = tool, arguments


current_agent_call: ContextVar[AgentCall | None] = ContextVar("current_agent_call", default=None)
"""Set by the middleware while the agent answers a call."""


def describe_plain_tools(tools: Sequence[BaseTool], senders: Mapping[str, Send]) -> list[DescribedFunction]:
    """Describes plain tools so that programs can call them.

    ``senders`` sends to the place where the agent runs, by the id of the execution. It is not found by a context variable: an
    interpreter that was opened earlier reads its calls in the context of that time.
    """
    return [_describe_tool(tool, senders) for tool in tools]


def _describe_tool(tool: BaseTool, senders: Mapping[str, Send]) -> DescribedFunction:
    async def call_tool(call: ToolCall) -> Json:
        send = senders.get(call.execution)
        if send is None:
            raise ToolFailed(f"{tool.name} is a tool of an agent, and no agent runs this program")
        nested = NestedCall(tool.name, call.arguments)
        send(nested)
        return await asyncio.wrap_future(nested.answer)

    schema: Any = tool.tool_call_schema
    described = cast("Mapping[str, Any]", schema if isinstance(schema, dict) else schema.model_json_schema())
    kept = {name: value for name, value in described.items() if name not in ("title", "description")}
    read_only = bool((tool.metadata or {}).get("read_only"))
    return DescribedFunction(
        name=tool.name,
        call=call_tool,
        description=tool.description,
        input_schema=kept,
        annotations={"readOnlyHint": True} if read_only else {},
    )


class NestedRunner:
    """Runs nested calls in the place where ``execute_code`` was called."""

    def __init__(self, tools: Mapping[str, BaseTool]) -> None:
        self._tools, self._agent, self._count = tools, current_agent_call.get(), 0

    def run(self, nested: NestedCall) -> None:
        """Runs one call and sets its answer."""
        try:
            agent, request = self._prepare(nested)
            with set_config_context(_strip_config(_get_config(request))) as context:
                found = context.run(agent.handler, request)
            nested.answer.set_result(_read_answer(found))
        except Exception as error:  # whatever a tool or a middleware raises is the answer to the program
            nested.answer.set_exception(_translate_error(error))

    async def arun(self, nested: NestedCall) -> None:
        """Runs one call on the agent's event loop and sets its answer."""
        try:
            agent, request = self._prepare(nested)
            with set_config_context(_strip_config(_get_config(request))) as context:
                found = await asyncio.create_task(_await_any(agent.handler(request)), context=context)
            nested.answer.set_result(_read_answer(found))
        except asyncio.CancelledError:
            nested.answer.cancel()
            raise
        except Exception as error:  # whatever a tool or a middleware raises is the answer to the program
            nested.answer.set_exception(_translate_error(error))

    def _prepare(self, nested: NestedCall) -> tuple[AgentCall, ToolCallRequest]:
        tool = self._tools.get(nested.tool)
        if tool is None:
            raise ToolFailed(f"this agent has no tool {nested.tool!r}")
        if self._agent is None:
            raise ToolFailed(f"{nested.tool} is a tool of an agent, and no agent runs this program")
        self._count += 1
        outer = self._agent.request
        number = f"{outer.tool_call['id']}/{self._count}"
        call: Any = {"name": tool.name, "args": dict(nested.arguments), "id": number, "type": "tool_call"}
        return self._agent, outer.override(tool_call=call, tool=_guard_tool(tool))


def _get_config(request: ToolCallRequest) -> RunnableConfig:
    any_request: Any = request  # LangGraph leaves the types of its state open
    return any_request.runtime.config


class UninterruptedTool(BaseTool):
    """A plain tool as programs call it: with settings in which it cannot interrupt the graph."""

    inner: BaseTool
    func: Any = None
    coroutine: Any = None

    def invoke(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any:  # noqa: A002 - the name of the base
        """Invokes the plain tool."""
        return self.inner.invoke(input, _strip_config(config), **options)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any:  # noqa: A002
        """Invokes the plain tool on the event loop."""
        return await self.inner.ainvoke(input, _strip_config(config), **options)

    def _run(self, *args: Any, **arguments: Any) -> Any:  # noqa: ARG002 - the signature of the base
        raise AssertionError("only invoke is used")


def _guard_tool(tool: BaseTool) -> UninterruptedTool:
    return UninterruptedTool(
        name=tool.name, description=tool.description, args_schema=tool.args_schema, inner=tool,
        func=getattr(tool, "func", None), coroutine=getattr(tool, "coroutine", None),
    )  # fmt: skip


def _strip_config(config: RunnableConfig | None) -> RunnableConfig:
    """Returns the settings without what interrupts need: an answer to one would be taken by the next in order, ours perhaps."""
    found = config or {}
    settings = {name: value for name, value in (found.get("configurable") or {}).items() if name not in _NOT_NESTED}
    return cast("RunnableConfig", {**found, "configurable": settings})


async def _await_any(work: Awaitable[Any]) -> Any:
    return await work


def _read_answer(found: Any) -> Json:
    """Returns the value for the program: the artifact where it is JSON, or else the content."""
    if not isinstance(found, ToolMessage):
        return str(found)
    if found.status == "error":
        raise ToolFailed(str(found.text))
    content: Any = found.content
    return content if isinstance(content, str) else list(content)


def _translate_error(error: Exception) -> Exception:
    if isinstance(error, KeyError) and error.args == (_SCRATCHPAD,):
        return ToolFailed(ASKS_A_PERSON)
    return error if isinstance(error, ToolFailed) else ToolFailed(f"{type(error).__name__}: {error}")
