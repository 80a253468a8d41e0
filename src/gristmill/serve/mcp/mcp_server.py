"""The door as a server of the MCP SDK: which handler answers which method."""

import logging
from typing import Any

from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListToolsResult,
    PaginatedRequestParams,
    PromptReference,
    PromptsCapability,
    ServerCapabilities,
    Tool,
    ToolsCapability,
)

from gristmill import __version__
from gristmill.errors import Error
from gristmill.serve.harmless_text import harmless
from gristmill.serve.mcp.answer_call import Answer
from gristmill.serve.mcp.mcp_door import Door
from gristmill.serve.mcp.questions.ask_client import Ctx
from gristmill.serve.mcp.resources.resource_handlers import Resources
from gristmill.serve.mcp.tasks.task_methods import bind_tasks
from gristmill.serve.mcp.tasks.tasks_2025 import CAPABILITY
from gristmill.serve.mcp.tools import explain_prompt as prompt
from gristmill.serve.mcp.tools.call_tool import call_tool
from gristmill.serve.mcp.tools.execute_code import execute_code
from gristmill.serve.mcp.tools.outcome_result import trouble
from gristmill.serve.mcp.tools.search_tools import search_tools
from gristmill.serve.mcp.tools.tool_arguments import WrongArguments
from gristmill.serve.mcp.tools.tool_surface import CALL, DIRECT, EXECUTE, SEARCH, TOOLS

log = logging.getLogger(__name__)

HOUR_MS = 3_600_000
HINTS: dict[CacheableMethod, CacheHint] = {
    "tools/list": CacheHint(ttl_ms=HOUR_MS, scope="public"),  # the same for everybody, always
    "prompts/list": CacheHint(ttl_ms=HOUR_MS, scope="public"),
    "resources/templates/list": CacheHint(ttl_ms=HOUR_MS, scope="public"),
    "server/discover": CacheHint(ttl_ms=60_000, scope="private"),
    "resources/list": CacheHint(ttl_ms=0, scope="private"),
    "resources/read": CacheHint(ttl_ms=0, scope="private"),
}


class McpServer(Server[Any]):
    """The SDK's server, except that clients are told the truth: one list can change, that of files, and there are tasks."""

    def get_capabilities(self, *places: Any, **options: Any) -> ServerCapabilities:
        """What ``server/discover`` answers: tools and prompts never change, whatever else can be listened to."""
        still = {"tools": ToolsCapability(list_changed=False), "prompts": PromptsCapability(list_changed=False)}
        return super().get_capabilities(*places, **options).model_copy(update=still)

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """What ``initialize`` answers."""
        truth = notification_options or NotificationOptions(resources_changed=True)
        options = super().create_initialization_options(truth, experimental_capabilities, extensions)
        return options.model_copy(update={"capabilities": options.capabilities.model_copy(update={"tasks": CAPABILITY})})


def build_server(door: Door) -> McpServer:
    """A server that answers with ``door``. Whoever runs it closes the door."""
    answers, resources = _Answers(door), Resources(door)
    server = McpServer(
        "gristmill",
        version=__version__,
        title="Gristmill",
        instructions=door.instructions,
        cache_hints=HINTS,
        get_tool_input_schema={tool.name: tool.input_schema for tool in tools_of(door)}.get,
        on_list_tools=answers.list_tools,
        on_list_prompts=answers.list_prompts,
        on_get_prompt=answers.get_prompt,
        on_completion=answers.complete,
        on_list_resources=resources.listing,
        on_list_resource_templates=resources.templates,
        on_read_resource=resources.reading,
        on_subscribe_resource=resources.subscribe,
        on_unsubscribe_resource=resources.unsubscribe,
        on_subscriptions_listen=resources.listen,
    )
    server.add_request_handler("tools/call", CallToolRequestParams, answers.call_tool)  # may answer with a task
    bind_tasks(server, door)
    # What a client sends back in a second request is sealed: it can be neither made up nor used by somebody else.
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="gristmill"))
    return server


def tools_of(door: Door) -> tuple[Tool, ...]:
    """The tools that this door shows."""
    return (*TOOLS, DIRECT) if door.direct_calls else TOOLS


class _Answers:
    def __init__(self, door: Door) -> None:
        self._door = door
        self._tools = ListToolsResult(tools=list(tools_of(door)))
        self._prompts = ListPromptsResult(prompts=[prompt.PROMPT])

    async def list_tools(self, _ctx: Ctx, _params: PaginatedRequestParams | None) -> ListToolsResult:
        return self._tools

    async def call_tool(self, ctx: Ctx, params: CallToolRequestParams) -> Answer:
        try:
            if params.name == EXECUTE:
                return await execute_code(self._door, ctx, params)
            if params.name == SEARCH:
                return await search_tools(self._door, params, self._door.who(ctx))
            if params.name == CALL and self._door.direct_calls:
                return await call_tool(self._door, ctx, params)
        except WrongArguments as wrong:
            return trouble(str(wrong), code="arguments")
        except Error as error:
            return trouble(error.message, code=error.code)
        raise MCPError(code=INVALID_PARAMS, message=f"Unknown tool: {harmless(params.name[:100])}")

    async def list_prompts(self, _ctx: Ctx, _params: PaginatedRequestParams | None) -> ListPromptsResult:
        return self._prompts

    async def get_prompt(self, _ctx: Ctx, params: GetPromptRequestParams) -> GetPromptResult:
        if params.name != prompt.NAME:
            raise MCPError(code=INVALID_PARAMS, message=f"Unknown prompt: {harmless(params.name[:100])}")
        server = (params.arguments or {}).get("server")
        return prompt.explain(server if server in self._door.names else None)

    async def complete(self, ctx: Ctx, params: CompleteRequestParams) -> CompleteResult:
        begun = params.argument.value
        if isinstance(params.ref, PromptReference) and params.argument.name == "server":
            return CompleteResult(completion=prompt.complete(self._door.names, begun))
        if params.argument.name == "session":
            own = await (await self._door.hall()).keeping.sessions.list(*reversed(self._door.who(ctx)))
            return CompleteResult(completion=prompt.complete([session.handle for session in own], begun))
        return CompleteResult(completion=Completion(values=[]))
