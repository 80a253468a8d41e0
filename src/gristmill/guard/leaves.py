"""A JSON value as its strings and numbers, and back. Without recursion: how deep a value is nested is a stranger's choice."""

from collections.abc import Callable, Iterator, Mapping
from typing import cast

from gristmill.model import Json

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


def in_fields(value: Json, wanted: Mapping[str, object]) -> Iterator[tuple[str, Json]]:
    """Name and value of each field whose name is wanted; for a list, each of its items."""
    stack: list[Json] = [value]
    while stack:
        container = stack.pop()
        if type(container) is dict:
            for name, inner in cast("dict[str, Json]", container).items():
                if name in wanted:
                    yield from ((name, item) for item in _items(inner))
                stack.append(inner)
        elif type(container) is list:
            stack.extend(cast("list[Json]", container))


def _items(value: Json) -> list[Json]:
    return cast("list[Json]", value) if type(value) is list else [value]


Swap = Callable[[str | None, Json], Json]
"""(name of the field or nothing, string or number) → what stands in its place."""


def rebuilt(value: Json, swap: Swap, rename: Mapping[str, str]) -> Json:
    """A copy with every string and number swapped and every field renamed; its order and shape stay."""
    root: list[Json] = []
    stack: list[tuple[Json, Json, str | None]] = [([value], root, None)]
    while stack:
        source, target, name = stack.pop()
        if type(source) is dict:
            for key, leaf in cast("dict[str, Json]", source).items():
                target[rename.get(key, key)] = _place(leaf, key, swap, stack)
        else:
            target.extend(_place(leaf, name, swap, stack) for leaf in source)
    return root[0]


def _place(leaf: Json, name: str | None, swap: Swap, stack: list[tuple[Json, Json, str | None]]) -> Json:
    kind: object = type(leaf)  # pyright: ignore[reportUnknownVariableType]
    if kind is dict or kind is list:
        copy: Json = {} if kind is dict else []
        stack.append((leaf, copy, name))
        return copy
    return swap(name, leaf) if kind is str or kind is int else leaf


def scalars(value: Json, *, names: bool) -> Iterator[Json]:
    """Every string, number, true, false and null in ``value``; with ``names`` those of its fields too."""
    stack: list[Json] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, Mapping):
            fields = cast("Mapping[str, Json]", item)
            yield from fields if names else ()
            stack.extend(fields.values())
        elif isinstance(item, list | tuple):
            stack.extend(cast("list[Json]", item))
        else:
            yield item
