"""Guesses by their names which tools only read, for tools whose definition does not say. A person confirms the guess. Pure."""

import re
from collections.abc import Iterable

from gristmill.model import Tool

_READING = frozenset("get list read search find describe show view count lookup status log diff info browse inspect".split())
_CHANGING = frozenset(
    (
        "add append archive assign book cancel close commit create delete deploy drop edit execute insert invite kill mark "
        "merge modify move patch pay post publish push put remove rename replace reset restart revoke run send set start stop "
        "submit transfer update upload write"
    ).split()
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def guess_read_only(tools: Iterable[Tool]) -> tuple[str, ...]:
    """Returns the keys of the tools that probably only read, among those whose definition does not say whether they do."""
    return tuple(tool.key for tool in tools if "readOnlyHint" not in tool.annotations and _sounds_read_only(tool))


def _sounds_read_only(tool: Tool) -> bool:
    words = [word.lower() for word in _WORD.findall(tool.name)]
    own = [word.lower() for word in _WORD.findall(tool.server)]
    if words[: len(own)] == own and len(words) > len(own):
        words = words[len(own) :]  # git_status of the server git
    return (
        bool(words) and words[0] in _READING and not _CHANGING.intersection(words) and not tool.annotations.get("destructiveHint")
    )
