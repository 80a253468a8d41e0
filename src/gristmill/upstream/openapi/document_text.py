"""Parses the text of an OpenAPI document, JSON or YAML, within limits that are checked before anything is built. Pure."""

from collections.abc import Iterator
from typing import Any

import msgspec
import yaml

from gristmill.errors import ConfigError
from gristmill.model import Json
from gristmill.upstream.json_limits import JsonLimits, JsonRefused, check_json

DOCUMENT_LIMITS = JsonLimits(values=500_000)
"""How much a document may hold. That of GitHub, one of the largest in use, has about 300,000 values."""

_CHARACTERS_PER_VALUE = 64
"""A long text counts as several values, because an alias can repeat it."""

_YamlLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # Any: the fast one exists only where libyaml does


def parse_document_text(text: str, place: str, limits: JsonLimits = DOCUMENT_LIMITS) -> Json:
    """Returns the content of the document at ``place``.

    Raises:
        ConfigError: it is neither JSON nor YAML, or it exceeds the limits.
    """
    try:
        return _parse_json(text, limits) if text.lstrip()[:1] == "{" else _parse_yaml(text, limits)
    except JsonRefused as refused:
        raise ConfigError(f"{place} is refused: {refused}") from None
    except (yaml.YAMLError, RecursionError, ValueError):
        raise ConfigError(f"{place} is neither JSON nor YAML") from None


def _parse_json(text: str, limits: JsonLimits) -> Json:
    encoded = text.encode()
    check_json(encoded, limits)
    try:
        return msgspec.json.decode(encoded)
    except msgspec.DecodeError:
        return _parse_yaml(text, limits)  # YAML may begin with a brace too


def _parse_yaml(text: str, limits: JsonLimits) -> Json:
    _check_yaml(yaml.parse(text, Loader=_YamlLoader), limits)
    loader = _YamlLoader(text)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


def _check_yaml(events: Iterator[yaml.Event], limits: JsonLimits) -> None:
    """Counts values and levels. An alias counts as much as what it repeats, so that a few lines cannot become gigabytes."""
    values = 0
    sizes: dict[str, int] = {}
    open_since: list[tuple[str | None, int]] = []
    for event in events:
        if isinstance(event, yaml.CollectionStartEvent):
            open_since.append((event.anchor, values))
            values += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_since.pop()
            sizes |= {anchor: values - before} if anchor else {}
        elif isinstance(event, yaml.ScalarEvent):
            size = 1 + len(event.value) // _CHARACTERS_PER_VALUE
            sizes |= {event.anchor: size} if event.anchor else {}
            values += size
        elif isinstance(event, yaml.AliasEvent):
            name = event.anchor or ""
            if name not in sizes:
                raise JsonRefused(f"the alias {name[:64]!r} repeats something that is not complete before it")
            values += sizes[name]
        if values > limits.values:
            raise JsonRefused(f"it holds more than {limits.values:,} values")
        if len(open_since) > limits.levels:
            raise JsonRefused(f"it is nested deeper than {limits.levels} levels")
