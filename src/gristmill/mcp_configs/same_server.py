"""Tells whether two entries start or reach the same server, however clients spell them."""

import json
import re
from collections.abc import Iterable
from pathlib import PurePosixPath, PureWindowsPath

from gristmill.config.sections.servers_section import SECRET_REFERENCE, ServerConfig
from gristmill.mcp_configs.read_servers import MovedSecret

ServerIdentity = tuple[str, tuple[str, ...], str]

_STARTERS = frozenset({"npx", "bunx", "uvx", "pnpx"})
"""Programs that fetch a package and start it; their full path and their option for "do not ask" say nothing about the server."""
_HARMLESS_OPTIONS = frozenset({"-y", "--yes"})
_SPELLED_DIFFERENTLY = {"command", "args", "url"}
_NEWEST = re.compile(r"(?<=.)@latest$")


def identify_server(server: ServerConfig) -> ServerIdentity:
    """Returns what is started or reached. Neither the place of a secret nor a slash at the end makes it another server."""
    words = tuple(_normalize_word(word) for word in server.args)
    command = server.command or ""
    starter = _name_program(command)
    if starter in _STARTERS:
        command = starter
        words = tuple(_NEWEST.sub("", word) for word in words if word not in _HARMLESS_OPTIONS)
    return command, words, _strip_slash(SECRET_REFERENCE.sub("", server.url or ""))


def make_server_key(server: ServerConfig, secrets: Iterable[MovedSecret]) -> tuple[ServerIdentity, str, tuple[str, ...]]:
    """Returns what makes a server the same as another: what is started or reached, with which settings and which secrets."""
    values = {f"${{keyring:{secret.service}/{secret.name}}}": secret.value for secret in secrets}
    rest = json.dumps(server.model_dump(mode="json", exclude_defaults=True, exclude=_SPELLED_DIFFERENTLY), sort_keys=True)
    for reference, value in values.items():
        rest = rest.replace(reference, json.dumps(value)[1:-1])
    return identify_server(server), rest, tuple(sorted(values.values()))


def _name_program(command: str) -> str:
    name = PureWindowsPath(command).name if "\\" in command else PurePosixPath(command).name
    return re.sub(r"\.(?:exe|cmd)$", "", name)


def _normalize_word(word: str) -> str:
    return "" if "${" in word else _strip_slash(word)


def _strip_slash(word: str) -> str:
    return word.rstrip("/") or word
