"""How big a stranger's definition may be. One walk without recursion, so that depth itself cannot hurt the walker."""

from typing import cast

from gristmill.model import Json

Container = dict[object, Json] | list[Json] | tuple[Json, ...]

_CONTAINERS = (dict, list, tuple)
"""Made once: `dict | list | tuple` in a loop makes a new value each time."""

MAX_DEPTH = 64
MAX_NODES = 50_000
MAX_CHARACTERS = 1_000_000
MAX_BITS = 4_096


def excess(value: Json) -> str | None:
    """What about ``value`` is too much ("nested too deeply"), or None when it is within bounds and plain JSON."""
    level: list[Json] = [value]
    nodes = characters = depth = 0
    # Level by level: it costs less than to remember the depth of every value, and a start walks over every definition.
    while level:
        depth, nodes = depth + 1, nodes + len(level)
        below: list[Json] = []
        for current in level:
            if isinstance(current, str):
                characters += len(current)
            elif isinstance(current, _CONTAINERS):
                below += _inside(cast("Container", current))
            elif reason := _odd_scalar(current):
                return reason
            if nodes + len(below) > MAX_NODES or characters > MAX_CHARACTERS:
                return "too much text" if characters > MAX_CHARACTERS else "too many values"
        if below and depth == MAX_DEPTH:
            return "nested too deeply"
        level = below
    return None


def _inside(container: Container) -> list[Json]:
    """The parts of a container; keys count too, and one that is no text becomes a part that is no JSON."""
    if isinstance(container, dict):
        return [*[key if isinstance(key, str) else object() for key in container], *container.values()]
    return list(container)


def _odd_scalar(value: Json) -> str | None:
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        # Python itself refuses to print or read such numbers.
        return "a number with too many digits"
    return None if value is None or isinstance(value, int | float) else f"not JSON: {type(value).__name__}"


def deeper_than(value: Json, depth: int) -> bool:
    """Whether containers are nested more than ``depth`` levels; fast enough for every result."""
    level: list[Json] = [value] if isinstance(value, dict | list | tuple) else []
    while level and depth > 0:
        depth -= 1
        insides = [cast("Container", inside) for inside in level]
        parts = (part for inside in insides for part in (inside.values() if isinstance(inside, dict) else inside))
        level = [part for part in parts if isinstance(part, dict | list | tuple)]
    return bool(level)
