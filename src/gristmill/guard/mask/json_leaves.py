"""A JSON value as its strings and numbers, and back. Without recursion: how deep a value is nested is a stranger's choice."""

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import field, replace
from itertools import chain
from typing import Any, cast

from gristmill.guard.mask.table_columns import LONG_NUMBER, ROWS, Column, Lists, Tables, together
from gristmill.model import Json
from gristmill.values import dataclass

Swap = Callable[[Json], Json]
"""A string or number → what stands in its place; itself, to leave it to the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Swaps:
    """What stands in the place of strings (names of fields too), of numbers, and of either in some fields."""

    texts: Mapping[str, Json]
    numbers: Mapping[int, Json] = field(default_factory=dict[int, Json])
    fields: Mapping[str, Swap] = field(default_factory=dict[str, Swap])
    whole: Set[str] = frozenset()
    """Of ``texts``, what stands for all of a string: about that a field's name has nothing to add."""


class Leaves:
    """The distinct strings, names of fields among them, and long numbers of a value."""

    __slots__ = ("_containers", "names", "numbers", "strings")

    def __init__(self, value: Json) -> None:
        self.numbers: set[int] = set()
        self._containers: list[Json] = [[value]]
        """Each before those in it, and those in the order in which they are in it; what is taken together in its list's place."""
        self.strings: dict[str, None] = {}
        self.names: dict[str, None] = dict.fromkeys(chain.from_iterable(self._walk(self.strings)))
        self.strings |= self.names

    def _walk(self, strings: dict[str, None]) -> Iterable[tuple[str, ...]]:
        """Take in all there is; the names of the fields of each object. Rows of a table all have the same."""
        numbers, containers = self.numbers, self._containers
        shapes: dict[tuple[str, ...], None] = {}
        for at, container in enumerate(containers):  # grows while it is read
            values: Any = container
            if type(container) is dict:
                shapes[tuple(container)] = None  # pyright: ignore[reportUnknownArgumentType]
                values = container.values()  # pyright: ignore[reportUnknownVariableType]
            elif len(container) >= ROWS and (taken := together(container, ROWS)) is not None:
                containers[at] = taken
                shapes.update(dict.fromkeys(taken.shapes))
                for column in taken.columns:
                    strings.update(dict.fromkeys(column))
                containers += taken.others
                continue
            for leaf in values:
                kind: object = type(leaf)  # pyright: ignore[reportUnknownVariableType]
                if kind is str:
                    strings[leaf] = None
                elif kind is dict or kind is list:
                    containers.append(leaf)
                elif kind is int and leaf >= LONG_NUMBER:
                    numbers.add(leaf)
        return shapes

    @property
    def value(self) -> Json:
        """What they are the leaves of."""
        return self._containers[0][0]

    def rebuilt(self, swaps: Swaps) -> Json:
        """A copy of the value with everything swapped; its order and shape stay."""
        copies = self._swapped(swaps)
        hinted = swaps.fields.keys()
        renamed = not swaps.texts.keys().isdisjoint(self.names)
        # Only now: what the name of a field says goes before what was found in its value.
        for container, copy in zip(self._containers, copies, strict=True) if hinted or renamed else ():
            if type(container) is dict:
                _swap_named([cast("Json", container)], [copy], swaps, renamed)
            elif type(container) is Tables:
                for table, rows in container.parts(copy):
                    undecided = table.undecided(hinted, swaps.texts, swaps.whole)
                    if undecided or renamed:
                        fields = {name: swaps.fields[name] for name in undecided}
                        _swap_named(table.rows, rows, replace(swaps, fields=fields), renamed)
        return copies[0][0]

    def _swapped(self, swaps: Swaps) -> list[Json]:
        """Copies of all containers, with strings and numbers swapped. Every leaf passes here: no calls."""
        texts, numbers = swaps.texts, swaps.numbers
        copies = [container.copy() for container in self._containers]
        inner = iter(copies)
        next(inner)
        columns: list[Column] = []
        for container, copy in zip(self._containers, copies, strict=True):
            if type(container) is Tables or type(container) is Lists:
                columns += container.swap(copy, texts, inner)
                continue
            places: Any = container.items() if type(container) is dict else enumerate(container)  # pyright: ignore[reportUnknownVariableType]
            for place, leaf in places:
                kind: object = type(leaf)  # pyright: ignore[reportUnknownVariableType]
                if kind is str:
                    if leaf in texts:
                        copy[place] = texts[leaf]
                elif kind is dict or kind is list:
                    copy[place] = next(inner)
                elif kind is int and leaf in numbers:
                    copy[place] = numbers[leaf]
        for rows, name, leaves in columns:  # now that everything in them is swapped
            for row, leaf in zip(rows, leaves, strict=True):
                row[name] = leaf
        return copies


def _swap_named(originals: Iterable[Json], copies: Iterable[Json], swaps: Swaps, renamed: bool) -> None:
    """What the names of fields say, and these names themselves."""
    hinted = swaps.fields.keys()
    for fields, copy in zip(originals, copies, strict=True):
        if not hinted.isdisjoint(fields):
            _swap_fields(fields, copy, swaps.fields)
        if renamed:
            _rename(copy, swaps.texts)


def _swap_fields(fields: dict[str, Json], copy: dict[str, Json], swaps: Mapping[str, Swap]) -> None:
    """What stands in the place of a string or number in such a field; in a list, and in lists in it, of each."""
    for name in swaps.keys() & fields.keys():
        leaf, swap = fields[name], swaps[name]
        if type(leaf) is str or type(leaf) is int:
            placed = swap(leaf)
            if placed is not leaf:
                copy[name] = placed
        elif type(leaf) is list:
            _swap_in_list(cast("list[Json]", leaf), copy[name], swap)


def _swap_in_list(leaves: list[Json], copies: list[Json], swap: Swap) -> None:
    stack = [(leaves, copies)]
    while stack:
        leaves, copies = stack.pop()
        for at, leaf in enumerate(leaves):
            if type(leaf) is str or type(leaf) is int:
                placed = swap(leaf)
                copies[at] = copies[at] if placed is leaf else placed
            elif type(leaf) is list:
                stack.append((cast("list[Json]", leaf), copies[at]))


def _rename(copy: dict[str, Json], texts: Mapping[str, Json]) -> None:
    """In place, since others hold it already."""
    renamed = {str(texts.get(name, name)): leaf for name, leaf in copy.items()}
    copy.clear()
    copy.update(renamed)


_LISTS = (list, tuple)
_SCALARS = frozenset((str, int, float, bool, type(None)))


def scalars(value: Json, *, names: bool) -> list[Json]:
    """Every string, number, true, false and null in ``value``; with ``names`` those of its fields too."""
    found: list[Json] = []
    stack: list[Iterable[Json]] = [(value,)]
    while stack:
        for item in stack.pop():
            kind: object = type(item)  # pyright: ignore[reportUnknownVariableType]
            if kind in _SCALARS:  # most are, and asking a Mapping costs ten times as much
                found.append(item)
            elif kind is dict or isinstance(item, Mapping):
                if names:
                    found.extend(item)  # pyright: ignore[reportUnknownArgumentType]
                stack.append(item.values())  # pyright: ignore[reportUnknownArgumentType]
            elif isinstance(item, _LISTS):
                stack.append(item)  # pyright: ignore[reportUnknownArgumentType]
            else:
                found.append(item)
    return found
