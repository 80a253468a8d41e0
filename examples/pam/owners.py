"""Whose records a server answers for. It is started for its users; a call for anybody else is refused before a tool runs."""

import functools
import inspect
from collections.abc import Callable, Collection
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError

OWNER = "user_id"
"""The parameter that says whose records a tool is about."""


def only_for(users: Collection[int] | None, tool: Callable[..., Any]) -> Callable[..., Any]:
    """``tool`` for ``users`` and nobody else; ``None`` is for everybody, and for gateways that bind their callers themselves."""
    if users is None or OWNER not in inspect.signature(tool).parameters:
        return tool

    @functools.wraps(tool)
    def checked(**arguments: Any) -> Any:
        if arguments[OWNER] not in users:
            raise ToolError(f"refused: this server was not started for user {arguments[OWNER]}")
        return tool(**arguments)

    return checked
