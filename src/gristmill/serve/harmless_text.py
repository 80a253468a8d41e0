"""Text of strangers on its way to a terminal or a model: nothing that came from code or a tool may steer either."""

import unicodedata
from typing import cast

from gristmill.model import Json

_KEEP = "\n\t"
_STEERING = ("Cc", "Cf", "Co", "Cs")
"""Control, format (bidirectional marks, tag characters), private use, lone surrogates: seen by machines, not by people."""


def harmless(text: str) -> str:
    """``text`` with control, bidirectional and tag characters made visible instead of obeyed."""
    if text.isprintable() or text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(char if char in _KEEP or unicodedata.category(char) not in _STEERING else _name(char) for char in text)


def harmless_json(value: Json) -> Json:
    """A JSON value with every text in it, keys included, made harmless. No recursion: depth is the stranger's choice."""
    if isinstance(value, str):
        return harmless(value)
    if not isinstance(value, (dict, list)):
        return value
    whole: list[Json] = [None]
    todo: list[tuple[Json, Json, Json]] = [(whole, 0, value)]
    while todo:
        holder, key, item = todo.pop()
        if isinstance(item, dict):
            mapping = cast("dict[str, Json]", item)
            holder[key] = made = {harmless(str(name)): None for name in mapping}
            todo.extend((made, harmless(str(name)), inner) for name, inner in mapping.items())
        elif isinstance(item, list):
            row = cast("list[Json]", item)
            holder[key] = made = [None] * len(row)
            todo.extend((made, place, inner) for place, inner in enumerate(row))
        else:
            holder[key] = harmless(item) if isinstance(item, str) else item
    return whole[0]


def _name(char: str) -> str:
    return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"
