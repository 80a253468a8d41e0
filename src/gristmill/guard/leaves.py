"""A JSON value as its strings and numbers, and back. Without recursion: how deep a value is nested is a stranger's choice."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import cast

from gristmill.model import Json
from gristmill.values import dataclass

LONG_NUMBER = 10**11
"""Integers from here on have the twelve digits of the shortest card number."""


class Leaves:
    """The distinct strings, field names and long numbers of a value."""

    __slots__ = ("names", "numbers", "strings")

    def __init__(self, value: Json) -> None:
        self.strings: dict[str, None] = {}
        self.names: dict[str, None] = {}
        self.numbers: set[int] = set()
        self._walk(value)

    def _walk(self, value: Json) -> None:
        strings, names, numbers = self.strings, self.names, self.numbers
        stack: list[list[Json] | dict[str, Json]] = [[value]]
        while stack:
            container = stack.pop()
            if type(container) is dict:
                names.update(dict.fromkeys(container))
                values = container.values()
            else:
                values = cast("list[Json]", container)
            for leaf in values:
                kind: object = type(leaf)  # pyright: ignore[reportUnknownVariableType]
                if kind is str:
                    strings[leaf] = None
                elif kind is dict or kind is list:
                    stack.append(leaf)
                elif kind is int and leaf >= LONG_NUMBER:
                    numbers.add(leaf)


Swap = Callable[[Json], Json]
"""A string or number → what stands in its place; itself, to leave it to the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Swaps:
    """What stands in the place of strings (names of fields too), of numbers, and of either in some fields."""

    texts: Mapping[str, Json]
    numbers: Mapping[int, Json] = field(default_factory=dict[int, Json])
    fields: Mapping[str, Swap] = field(default_factory=dict[str, Swap])


def rebuilt(value: Json, swaps: Swaps) -> Json:
    """A copy with everything swapped; its order and shape stay."""
    root: list[Json] = []
    stack: list[tuple[Json, Json, Swap | None]] = [([value], root, None)]
    texts, fields = swaps.texts.get, swaps.fields.get
    while stack:
        source, target, swap = stack.pop()
        if type(source) is dict:
            for name, leaf in cast("dict[str, Json]", source).items():
                target[str(texts(name, name))] = _placed(leaf, swaps, fields(name), stack)
        else:
            target.extend([_placed(leaf, swaps, swap, stack) for leaf in source])
    return root[0]


def _placed(leaf: Json, swaps: Swaps, swap: Swap | None, stack: list[tuple[Json, Json, Swap | None]]) -> Json:
    kind: object = type(leaf)  # pyright: ignore[reportUnknownVariableType]
    if kind is str or kind is int:
        placed = swap(leaf) if swap else leaf
        if placed is not leaf:
            return placed
        return swaps.texts.get(leaf, leaf) if kind is str else swaps.numbers.get(leaf, leaf)
    if kind is not dict and kind is not list:
        return leaf
    copy: Json = {} if kind is dict else []
    stack.append((leaf, copy, swap if kind is list else None))
    return copy


_SCALARS = frozenset((str, int, float, bool, type(None)))


def scalars(value: Json, *, names: bool) -> list[Json]:
    """Every string, number, true, false and null in ``value``; with ``names`` those of its fields too."""
    found: list[Json] = []
    stack: list[Iterable[Json]] = [(value,)]
    while stack:
        for item in stack.pop():
            if type(item) in _SCALARS:  # most are, and asking a Mapping costs ten times as much
                found.append(item)
            elif type(item) is dict or isinstance(item, Mapping):
                fields = cast("Mapping[str, Json]", item)
                found.extend(fields if names else ())
                stack.append(fields.values())
            elif isinstance(item, list | tuple):
                stack.append(cast("list[Json]", item))
            else:
                found.append(item)
    return found
