"""How big a stranger's definition may be. One walk without recursion, so that depth itself cannot hurt the walker."""

from typing import cast

from gristmill.model import Json

MAX_DEPTH = 64
MAX_NODES = 50_000
MAX_CHARACTERS = 1_000_000
MAX_BITS = 4_096


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
        elif isinstance(current, int) and current.bit_length() > MAX_BITS:
            # Python itself refuses to print or read such numbers.
            return "a number with too many digits"
        elif current is not None and not isinstance(current, int | float):
            return f"not JSON: {type(current).__name__}"
    return None


def deeper_than(value: Json, depth: int) -> bool:
    """Whether containers are nested more than ``depth`` levels; fast enough for every result."""
    level: list[Json] = [value] if isinstance(value, dict | list | tuple) else []
    while level and depth > 0:
        depth -= 1
        insides = [inside.values() if isinstance(inside, dict) else inside for inside in level]
        level = [part for inside in insides for part in inside if isinstance(part, dict | list | tuple)]
    return bool(level)
