"""How every example becomes an MCP server: methods marked as reading or writing, spoken over stdio or HTTP."""

import argparse
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
DESTROYS = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)

_MARK = "_tool_annotations"

F = TypeVar("F", bound=Callable[..., Any])


def reads(function: F) -> F:
    """A tool that changes nothing: it passes without a question."""
    setattr(function, _MARK, READS)
    return function


def writes(function: F) -> F:
    """A tool that adds or changes something: without a rule it asks."""
    setattr(function, _MARK, WRITES)
    return function


def destroys(function: F) -> F:
    """A tool that takes something away: without a rule it asks."""
    setattr(function, _MARK, DESTROYS)
    return function


def server_of(name: str, *groups: object, guard: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None) -> MCPServer:
    """A server whose tools are the marked methods of ``groups``, in the order they are written, each behind ``guard``."""
    server = MCPServer(name, log_level="ERROR")
    for group in groups:
        for member in vars(type(group)):
            method = getattr(group, member)
            if annotations := getattr(method, _MARK, None):
                server.add_tool(guard(method) if guard else method, description=inspect.getdoc(method), annotations=annotations)
    return server


def arguments(about: str, *, port: int) -> argparse.ArgumentParser:
    """The options that every server has; ``port`` is the usual one."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--http", type=int, nargs="?", const=port, metavar="PORT", help=f"speak HTTP (default port {port})")
    return parser


def serve(server: MCPServer, port: int | None) -> None:
    """Speak until the client leaves: stdio, or HTTP on the loopback address when there is a port."""
    if port is None:
        server.run()
    else:
        server.run("streamable-http", host="127.0.0.1", port=port)
