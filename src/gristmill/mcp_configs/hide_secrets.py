"""Hides secrets in a text that is shown, such as the difference between two versions of a client's file."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from gristmill.config.sections.servers_section import looks_secret
from gristmill.mcp_configs.argument_secrets import find_secret

HIDDEN = "<hidden>"
MAX_DEPTH = 64
SHORTEST = 4
"""A shorter value is not hidden: it would be found inside other words."""


def find_document_secrets(document: Any) -> frozenset[str]:
    """Returns every value in a parsed document that looks like a secret."""
    return frozenset(secret for secret in _list_secrets(document, "", "", 0) if len(secret) >= SHORTEST)


def hide_secrets(text: str, secrets: frozenset[str]) -> str:
    """Returns ``text`` with every secret replaced, in plain spelling and as it stands inside a string of JSON."""
    spellings = {spelling for secret in secrets for spelling in (secret, json.dumps(secret)[1:-1])}
    for spelling in sorted(spellings, key=len, reverse=True):
        text = text.replace(spelling, HIDDEN)
    return text


def _list_secrets(value: Any, key: str, previous: str, depth: int) -> Iterator[str]:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, Mapping):
        for name, item in cast("Mapping[Any, Any]", value).items():
            yield from _list_secrets(item, str(name), "", depth + 1)
    elif isinstance(value, str):
        yield from _find_in_text(key, value, previous)
    elif isinstance(value, Sequence):
        words = cast("Sequence[Any]", value)
        for before, word in zip(("", *words), words, strict=False):
            yield from _list_secrets(word, key, before if isinstance(before, str) else "", depth + 1)


def _find_in_text(key: str, value: str, previous: str) -> Iterator[str]:
    found = find_secret(value, previous)
    if found is not None:
        yield value[slice(*found)]
    elif looks_secret(key, value):
        yield value
