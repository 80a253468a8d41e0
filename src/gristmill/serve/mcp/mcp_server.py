"""Builds the MCP SDK server of the door: which handler answers which method."""

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
from gristmill.harmless_text import neutralize_text
from gristmill.serve.mcp.answer_call import Answer
from gristmill.serve.mcp.mcp_door import McpDoor
from gristmill.serve.mcp.questions.ask_client import Ctx
from gristmill.serve.mcp.resources.resource_handlers import ResourceHandlers
from gristmill.serve.mcp.tasks.task_methods import bind_tasks
from gristmill.serve.mcp.tasks.tasks_2025 import CAPABILITY
from gristmill.serve.mcp.tools import explain_prompt as prompt
from gristmill.serve.mcp.tools.call_tool import call_tool
from gristmill.serve.mcp.tools.execute_code import execute_code
from gristmill.serve.mcp.tools.outcome_result import build_error_result
from gristmill.serve.mcp.tools.search_tools import search_tools
from gristmill.serve.mcp.tools.tool_arguments import WrongArguments
from gristmill.serve.mcp.tools.tool_surface import CALL, DIRECT_CALL_TOOL, EXECUTE, SEARCH, build_tools

log = logging.getLogger(__name__)

HOUR_MS = 3_600_000
CACHE_HINTS: dict[CacheableMethod, CacheHint] = {
    # The same for every caller. Changes are announced, but not to clients that do not listen.
    "tools/list": CacheHint(ttl_ms=60_000, scope="public"),
    "prompts/list": CacheHint(ttl_ms=HOUR_MS, scope="public"),
    "resources/templates/list": CacheHint(ttl_ms=HOUR_MS, scope="public"),
    "server/discover": CacheHint(ttl_ms=60_000, scope="private"),
    "resources/list": CacheHint(ttl_ms=0, scope="private"),
    "resources/read": CacheHint(ttl_ms=0, scope="private"),
}


class McpServer(Server[Any]):
    """The SDK's server, with corrected capabilities: the list of prompts cannot change, and there are tasks."""

    def get_capabilities(self, *places: Any, **options: Any) -> ServerCapabilities:
        """Returns the capabilities that ``server/discover`` answers: descriptions of tools change, and prompts never do."""
        corrected = {"tools": ToolsCapability(list_changed=True), "prompts": PromptsCapability(list_changed=False)}
        return super().get_capabilities(*places, **options).model_copy(update=corrected)

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """Returns what ``initialize`` answers: with changing resources and the tasks of 2025-11-25."""
        notifications = notification_options or NotificationOptions(resources_changed=True)
        options = super().create_initialization_options(notifications, experimental_capabilities, extensions)
        return options.model_copy(update={"capabilities": options.capabilities.model_copy(update={"tasks": CAPABILITY})})


def build_server(door: McpDoor) -> McpServer:
    """Builds a server that answers with ``door``. The code that runs the server must close the door."""
    handlers, resources = _MethodHandlers(door), ResourceHandlers(door)
    server = McpServer(
        "gristmill",
        version=__version__,
        title="Gristmill",
        instructions=door.instructions,
        cache_hints=CACHE_HINTS,
        get_tool_input_schema={tool.name: tool.input_schema for tool in select_tools(door)}.get,
        on_list_tools=handlers.list_tools,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
        on_completion=handlers.complete,
        on_list_resources=resources.list_files,
        on_list_resource_templates=resources.list_templates,
        on_read_resource=resources.read_file,
        on_subscribe_resource=resources.subscribe,
        on_unsubscribe_resource=resources.unsubscribe,
        on_subscriptions_listen=resources.listen,
    )
    # Registered here, not as `on_call_tool`, because it may answer with a task.
    server.add_request_handler("tools/call", CallToolRequestParams, handlers.call_tool)
    bind_tasks(server, door)
    # The state that a client sends back in a second request is sealed: no client can forge it or use the state of another client.
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="gristmill"))
    return server


def select_tools(door: McpDoor) -> tuple[Tool, ...]:
    """Returns the tools that this door offers."""
    tools = build_tools(door.example, masks=door.masks, news=door.changed_servers.sentence)
    return (*tools, DIRECT_CALL_TOOL) if door.direct_calls else tools


class _MethodHandlers:
    def __init__(self, door: McpDoor) -> None:
        self._door = door
        self._prompts = ListPromptsResult(prompts=[prompt.PROMPT])

    async def list_tools(self, ctx: Ctx, _params: PaginatedRequestParams | None) -> ListToolsResult:
        self._door.changed_servers.remember_connection(ctx)
        return ListToolsResult(tools=list(select_tools(self._door)))

    async def call_tool(self, ctx: Ctx, params: CallToolRequestParams) -> Answer:
        try:
            if params.name == EXECUTE:
                return await execute_code(self._door, ctx, params)
            if params.name == SEARCH:
                return await search_tools(self._door, ctx, params)
            if params.name == CALL and self._door.direct_calls:
                return await call_tool(self._door, ctx, params)
        except WrongArguments as wrong:
            return build_error_result(str(wrong), code="arguments")
        except Error as error:
            return build_error_result(error.message, code=error.code)
        raise MCPError(code=INVALID_PARAMS, message=f"Unknown tool: {neutralize_text(params.name[:100])}")

    async def list_prompts(self, _ctx: Ctx, _params: PaginatedRequestParams | None) -> ListPromptsResult:
        return self._prompts

    async def get_prompt(self, _ctx: Ctx, params: GetPromptRequestParams) -> GetPromptResult:
        if params.name != prompt.NAME:
            raise MCPError(code=INVALID_PARAMS, message=f"Unknown prompt: {neutralize_text(params.name[:100])}")
        server = (params.arguments or {}).get("server")
        return prompt.write_prompt(server if server in self._door.servers_now else None)

    async def complete(self, ctx: Ctx, params: CompleteRequestParams) -> CompleteResult:
        begun = params.argument.value
        if isinstance(params.ref, PromptReference) and params.argument.name == "server":
            return CompleteResult(completion=prompt.complete_name(self._door.servers_now, begun))
        if params.argument.name == "session":
            own = await (await self._door.hall()).session_stores.sessions.list(identity=self._door.identify_caller(ctx))
            return CompleteResult(completion=prompt.complete_name([self._door.name_session(each.handle) for each in own], begun))
        return CompleteResult(completion=Completion(values=[]))
