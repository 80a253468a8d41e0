"""Limits the size of a tool definition from a server. The check does not recurse, so that a deep value cannot overflow it."""

from typing import cast

from gristmill.model import Json

Container = dict[object, Json] | list[Json] | tuple[Json, ...]

_CONTAINERS = (dict, list, tuple)
"""Built once: `dict | list | tuple` inside a loop would build a new value each time."""

MAX_DEPTH = 64
MAX_NODES = 50_000
MAX_CHARACTERS = 1_000_000
MAX_BITS = 4_096


def find_excess(value: Json) -> str | None:
    """Returns what is too much about ``value`` ("nested too deeply"), or None if it is within bounds and plain JSON."""
    level: list[Json] = [value]
    nodes = characters = depth = 0
    # Level by level: this costs less than storing the depth of every value, and each start checks every definition.
    while level:
        depth, nodes = depth + 1, nodes + len(level)
        below: list[Json] = []
        for current in level:
            if isinstance(current, str):
                characters += len(current)
            elif isinstance(current, _CONTAINERS):
                below += _list_parts(cast("Container", current))
            elif reason := _find_scalar_problem(current):
                return reason
            if nodes + len(below) > MAX_NODES or characters > MAX_CHARACTERS:
                return "too much text" if characters > MAX_CHARACTERS else "too many values"
        if below and depth == MAX_DEPTH:
            return "nested too deeply"
        level = below
    return None


def _list_parts(container: Container) -> list[Json]:
    """Returns the parts of a container. Keys count too; a key that is not text becomes a part that is not JSON."""
    if isinstance(container, dict):
        return [*[key if isinstance(key, str) else object() for key in container], *container.values()]
    return list(container)


def _find_scalar_problem(value: Json) -> str | None:
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        # Python itself refuses to print or read such numbers.
        return "a number with too many digits"
    return None if value is None or isinstance(value, int | float) else f"not JSON: {type(value).__name__}"


def is_deeper_than(value: Json, depth: int) -> bool:
    """Returns whether containers are nested more than ``depth`` levels deep; fast enough to run on every result."""
    level: list[Json] = [value] if isinstance(value, dict | list | tuple) else []
    while level and depth > 0:
        depth -= 1
        insides = [cast("Container", inside) for inside in level]
        parts = (part for inside in insides for part in (inside.values() if isinstance(inside, dict) else inside))
        level = [part for part in parts if isinstance(part, dict | list | tuple)]
    return bool(level)
