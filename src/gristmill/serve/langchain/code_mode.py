"""The middleware for ``create_agent``: it brings the tools, a few lines of prompt, the caller's context and the approvals."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import ModelCallResult, PrivateStateAttr
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from gristmill.chat.code_backends import RuntimeBackend
from gristmill.chat.mode_prompts import CODE_PROMPT, EXECUTE, HYBRID_PROMPT, QUESTION_CHARACTERS, SEARCH
from gristmill.errors import ConfigError
from gristmill.model import LOCAL_IDENTITY
from gristmill.serve.langchain.call_surroundings import CodeOptions
from gristmill.serve.langchain.code_tools import ToolSource, build_execute_tool, build_search_tool
from gristmill.serve.langchain.direct_tools import build_direct_tool
from gristmill.serve.langchain.nested_calls import AgentCall, current_agent_call, describe_plain_tools
from gristmill.serve.langchain.open_source import GivenSource, open_source

Mode = Literal["code", "hybrid", "direct", "auto"]
TOOLS_SERVER = "tools"


class CodeModeState(AgentState[Any]):
    """The state of an agent with the mode of its present task, and why that was chosen."""

    gristmill_mode: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]


class CodeModeMiddleware(AgentMiddleware[CodeModeState, Any, Any]):
    """Lets an agent write programs: ``create_agent(model, middleware=[CodeModeMiddleware(source)])``.

    ``mode`` says what the model is offered: ``"code"`` (search and programs), ``"hybrid"`` (also the tools in ``direct``),
    ``"direct"`` (only those), or ``"auto"`` (chosen for each task from the token accounts). ``tools`` are plain tools of
    LangChain that programs import from ``servers.tools``; put this middleware first, so that their calls pass the others.
    """

    state_schema = CodeModeState

    def __init__(
        self,
        source: GivenSource,
        *,
        mode: Mode = "code",
        direct: Sequence[str] = (),
        tools: Sequence[BaseTool] = (),
        token: str | None = None,
        approver: str | None = None,
        **options: Any,
    ) -> None:
        """Takes the tools by their keys (``server.tool``) in ``direct``; ``options`` are the fields of ``CodeOptions``.

        Raises:
            ConfigError: the mode needs tools in ``direct``, or plain tools were given to a service that cannot call them.
        """
        super().__init__()
        if mode in ("hybrid", "direct") and not direct:
            raise ConfigError(f'mode "{mode}" offers tools directly: name them, such as direct=["crm.find"]')
        backend, bridge = open_source(source, token=token, approver=approver)
        if tools and not isinstance(backend, RuntimeBackend):
            raise ConfigError("a service cannot call tools of this process: give an open Runtime or BlockingRuntime")
        plain = {tool.name: tool for tool in tools}
        self._source = ToolSource(backend=backend, bridge=bridge, options=CodeOptions(**options), plain_tools=plain)
        self._mode, self._direct = mode, tuple(direct)
        self._added = not tools
        self._direct_tools: dict[str, BaseTool] = {}
        self.tools = [build_search_tool(self._source), build_execute_tool(self._source)]

    def before_agent(self, state: CodeModeState, runtime: Any) -> dict[str, Any] | None:
        """Makes the tools ready, and chooses the mode of the task."""
        return self._source.bridge.run(lambda _send: self._choose_mode(state, runtime), _ignore)

    async def abefore_agent(self, state: CodeModeState, runtime: Any) -> dict[str, Any] | None:
        """Does the same for a caller on an event loop."""
        return await self._source.bridge.arun(lambda _send: self._choose_mode(state, runtime), _ignore)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelCallResult[Any]:
        """Offers the tools of the mode, and adds the lines of prompt."""
        keys = self._list_direct(request.state)
        if not self._is_ready(keys):
            self._source.bridge.run(lambda _send: self._make_ready(keys), _ignore)
        return handler(self._offer(request, keys))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelCallResult[Any]:
        """Does the same for a caller on an event loop."""
        keys = self._list_direct(request.state)
        if not self._is_ready(keys):
            await self._source.bridge.arun(lambda _send: self._make_ready(keys), _ignore)
        return await handler(self._offer(request, keys))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Remembers how the agent runs tools while a program runs, and runs direct tools."""
        keys = self._list_direct(request.state)
        if not self._is_ready(keys):  # a graph may be resumed here, in a process that has not begun it
            self._source.bridge.run(lambda _send: self._make_ready(keys), _ignore)
        before = current_agent_call.set(AgentCall(request, handler))
        try:
            return handler(self._fill_tool(request))
        finally:
            current_agent_call.reset(before)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """Does the same for a caller on an event loop."""
        keys = self._list_direct(request.state)
        if not self._is_ready(keys):
            await self._source.bridge.arun(lambda _send: self._make_ready(keys), _ignore)
        before = current_agent_call.set(AgentCall(request, handler))
        try:
            return await handler(self._fill_tool(request))
        finally:
            current_agent_call.reset(before)

    async def _choose_mode(self, state: CodeModeState, runtime: Any) -> dict[str, Any] | None:
        if self._mode != "auto":
            await self._make_ready(self._direct)
            return None
        question = next((message.text for message in reversed(state["messages"]) if isinstance(message, HumanMessage)), "")
        identify = self._source.options.identify
        who = LOCAL_IDENTITY if identify is None else identify(runtime.context)
        chosen = await self._source.backend.choose_mode(str(question)[:QUESTION_CHARACTERS], identity=who)
        await self._make_ready(chosen.tools)
        found = {"mode": chosen.mode, "why": chosen.why, "tools": list(chosen.tools)}
        runtime.stream_writer({"source": "gristmill", "type": "mode", **found})
        return {"gristmill_mode": found}

    def _is_ready(self, keys: Sequence[str]) -> bool:
        return self._added and all(key in self._direct_tools for key in keys)

    async def _make_ready(self, keys: Sequence[str]) -> None:
        backend = self._source.backend
        if not self._added and isinstance(backend, RuntimeBackend):
            tools = list(self._source.plain_tools.values())
            await backend.runtime.add_tools(TOOLS_SERVER, describe_plain_tools(tools, backend.senders))
            self._added = True
        for key in keys:
            if key not in self._direct_tools:
                self._direct_tools[key] = build_direct_tool(self._source, await backend.describe(key))

    def _list_direct(self, state: Any) -> tuple[str, ...]:
        """Returns the keys of the tools that are offered directly now."""
        if self._mode != "auto":
            return self._direct
        chosen: Mapping[str, Any] = state.get("gristmill_mode") or {}
        return tuple(chosen.get("tools", ()))

    def _offer(self, request: ModelRequest[Any], keys: Sequence[str]) -> ModelRequest[Any]:
        only_direct = self._mode == "direct" or (self._mode == "auto" and bool(keys))
        ours = (SEARCH, EXECUTE)
        kept = [tool for tool in request.tools if not (only_direct and isinstance(tool, BaseTool) and tool.name in ours)]
        offered = [*kept, *(self._direct_tools[key] for key in keys)]
        if only_direct:
            return request.override(tools=offered)
        before = f"{request.system_message.text}\n\n" if request.system_message is not None else ""
        prompt = SystemMessage(content=before + (HYBRID_PROMPT if keys else CODE_PROMPT))
        return request.override(tools=offered, system_message=prompt)

    def _fill_tool(self, request: ToolCallRequest) -> ToolCallRequest:
        name = request.tool_call["name"]
        found = next((tool for tool in self._direct_tools.values() if tool.name == name), None)
        return request if found is None or request.tool is not None else request.override(tool=found)


def _ignore(_item: Any) -> None:
    """Ignores what preparations send: nothing."""
