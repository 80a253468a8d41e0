"""Says what each configured server is for, in a word of its package, address or module. No server is asked."""

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from gristmill.config.sections.servers_section import ServerConfig
from gristmill.config.tree import Config

_PACKAGE = re.compile(r"(?:@[\w.-]{1,60}/)?[\w.-]{1,80}(?:@[\w.-]{1,30})?")
_NOISE = frozenset(
    "mcp server servers api app com org io dev net ai www client official modelcontextprotocol latest http https sse".split()
)
_LIBRARIES = frozenset({"stdio", "run", "serve", "start", "main", "index"})


def describe_servers(config: Config, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Returns for each server words that say what it is for; they depend on the configuration alone."""
    return {name: describe_server(config.servers[name]) if name in config.servers else () for name in names}


def describe_server(server: ServerConfig) -> tuple[str, ...]:
    """Returns the words of a server's package, address or module; empty if they say nothing."""
    if server.url:
        return _list_purpose_words(urlsplit(server.url).hostname or "")
    if server.python:
        return _list_purpose_words(server.python)
    packages = [argument for argument in server.args[:20] if _looks_like_package(argument)]
    return _list_purpose_words(packages[0].rpartition("/")[2].partition("@")[0]) if packages else ()


def _looks_like_package(argument: str) -> bool:
    """Returns whether an argument names a package of MCP servers: a path, an option or a key must not be shown to a model."""
    plain = argument.lower()
    return _PACKAGE.fullmatch(argument) is not None and ("mcp" in plain or plain.startswith("@"))


def _list_purpose_words(text: str) -> tuple[str, ...]:
    words = [word for word in re.split(r"[^A-Za-z0-9]+", text.lower()) if len(word) > 1 and not word.isdigit()]
    return tuple(word for word in words if word not in _NOISE | _LIBRARIES)[:2]
