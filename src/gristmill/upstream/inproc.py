"""Python functions as a tool server: ``{"crm.find": find}``. The smallest upstream, and the one tests use."""

import inspect
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from gristmill.errors import Error, ToolFailed, UnknownTool
from gristmill.model import Handler, ToolCall, ToolResult

Function = Callable[..., Any]
"""A tool: any callable, synchronous or not; its result must be JSON."""


def functions(tools: Mapping[str, Function]) -> Handler:
    """A handler that answers calls of these functions, by key ``server.tool``."""
    known = dict(tools)

    async def call(call: ToolCall) -> ToolResult:
        function = known.get(call.tool)
        if function is None:
            raise UnknownTool(f"there is no tool {call.tool!r}", near=get_close_matches(call.tool, known, n=3, cutoff=0.75))
        try:
            bound = inspect.signature(function).bind(*call.positional, **call.arguments)
        except TypeError as error:
            raise ToolFailed(f"{call.tool}: {error}; it takes {inspect.signature(function)}") from None
        try:
            value = function(*bound.args, **bound.kwargs)
            return ToolResult(value=await value if inspect.isawaitable(value) else value)
        except Error:
            raise
        except Exception as error:  # the function is the tool: its failure is the tool's
            raise ToolFailed(f"{call.tool} failed: {type(error).__name__}: {error}") from error

    return call
