"""Offers single tools of servers to a model; a call passes the same rules, masks and records as one from a program."""

from typing import Any

import msgspec
from langchain_core.tools import StructuredTool

from gristmill.chat.code_backends import CodeRequest
from gristmill.model import Tool
from gristmill.runs.texts.provider_tools import build_input_schema, describe_tool, make_provider_name
from gristmill.serve.langchain.call_surroundings import AnyToolRuntime, build_request
from gristmill.serve.langchain.code_tools import NO_RUNTIME, Content, ToolSource, aexecute_in_graph, execute_in_graph

PROGRAM = """from mcp_client import call_mcp_tool
call_mcp_tool(context.tool, dict(context.arguments))
"""
"""The program of every direct call: the arguments are values, never a part of it."""


def build_direct_tool(source: ToolSource, tool: Tool) -> StructuredTool:
    """Builds a tool that calls ``tool``; its artifact is the outcome, as for programs."""

    def build_call(runtime: AnyToolRuntime | None, arguments: dict[str, Any]) -> CodeRequest:
        asked = {"tool": tool.key, "arguments": arguments}
        return msgspec.structs.replace(build_request(source.options, runtime, code=PROGRAM), context=asked, session=None)

    def run(runtime: AnyToolRuntime = NO_RUNTIME, **arguments: Any) -> Content:
        return execute_in_graph(source, build_call(runtime, arguments), runtime)

    async def arun(runtime: AnyToolRuntime = NO_RUNTIME, **arguments: Any) -> Content:
        return await aexecute_in_graph(source, build_call(runtime, arguments), runtime)

    return StructuredTool.from_function(
        func=run, coroutine=arun, name=make_provider_name(f"{tool.server}__{tool.name}"),
        description=describe_tool(tool, with_output=False), args_schema=build_input_schema(tool),
        response_format="content_and_artifact", handle_tool_error=True,
    )  # fmt: skip
