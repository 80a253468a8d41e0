"""How every example becomes an MCP server: methods marked as reading or writing, spoken over stdio or HTTP."""

import argparse
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
        for method, annotations in list_tools(group):
            server.add_tool(guard(method) if guard else method, description=inspect.getdoc(method), annotations=annotations)
    return server


def list_tools(group: object) -> Iterator[tuple[Callable[..., Any], ToolAnnotations]]:
    """Yields the marked methods of ``group`` with their marks, in the order they are written."""
    for member in vars(type(group)):
        method = getattr(group, member)
        if annotations := getattr(method, _MARK, None):
            yield method, annotations


def arguments(about: str, *, port: int) -> argparse.ArgumentParser:
    """The options that every server has; ``port`` is the usual one."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--http", type=int, nargs="?", const=port, metavar="PORT", help=f"speak HTTP (default port {port})")
    return parser


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """Where a service listens, and the names by which it may be called; a page that a browser shows may not use others."""

    port: int
    host: str = "127.0.0.1"
    names: tuple[str, ...] = ()


def add_listening(parser: argparse.ArgumentParser) -> None:
    """Adds the options that ``read_listening`` reads beside ``--http``."""
    parser.add_argument("--host", default="127.0.0.1", help="address on which HTTP is spoken (default: this machine only)")
    parser.add_argument("--name", action="append", default=[], help="a name by which other machines call this service")


def read_listening(chosen: argparse.Namespace) -> Listening | None:
    """Returns where to speak HTTP; None is for stdio."""
    return None if chosen.http is None else Listening(port=chosen.http, host=chosen.host, names=tuple(chosen.name))


def serve(server: MCPServer, port: int | None) -> None:
    """Speak until the client leaves: stdio, or HTTP on the loopback address when there is a port."""
    if port is None:
        server.run()
    else:
        server.run("streamable-http", host="127.0.0.1", port=port)
