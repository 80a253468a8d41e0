"""How big a stranger's definition may be. One walk without recursion, so that depth itself cannot hurt the walker."""

from typing import cast

from gristmill.model import Json

MAX_DEPTH = 64
MAX_NODES = 50_000
MAX_CHARACTERS = 1_000_000


def excess(
    value: Json, *, depth: int = MAX_DEPTH, nodes: int = MAX_NODES, characters: int = MAX_CHARACTERS
) -> str | None:
    """What about ``value`` is too much ("deeper than 64 levels"), or None when it is within bounds and plain JSON."""
    stack: list[tuple[Json, int]] = [(value, 1)]
    while stack:
        current, level = stack.pop()
        nodes -= 1
        if nodes < 0:
            return "too many values"
        if isinstance(current, str):
            characters -= len(current)
            if characters < 0:
                return "too much text"
            continue
        if level > depth:
            return "nested too deeply"
        if isinstance(current, dict):
            entries = cast("dict[object, Json]", current)
            if not all(isinstance(key, str) for key in entries):
                return "not JSON: a key that is no text"
            stack.extend((part, level + 1) for entry in entries.items() for part in entry)
        elif isinstance(current, list | tuple):
            stack.extend((part, level + 1) for part in cast("list[Json]", current))
        elif current is not None and not isinstance(current, bool | int | float):
            return f"not JSON: {type(current).__name__}"
    return None
