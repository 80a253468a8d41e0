"""Takes the strings and numbers out of a JSON value and puts others in. Without recursion, since any nesting may come in."""

from collections.abc import Callable, Iterable, Mapping, Set
from itertools import chain
from typing import Any, cast

from msgspec import Struct, field
from msgspec.structs import replace

from gristmill.guard.mask.table_columns import LONG_NUMBER, NUMBER_TYPES, ROWS, Column, ColumnTables, JoinedLists, group_values
from gristmill.model import Json

Swap = Callable[[Json], Json]
"""Returns the replacement of a string or number; the same object when this swap does not replace it."""


class LeafSwaps(Struct, frozen=True, kw_only=True):
    """The replacements of strings (names of fields included), of numbers, and of either in certain fields."""

    texts: Mapping[str, Json]
    numbers: Mapping[int | float, Json] = field(default_factory=dict[int | float, Json])
    fields: Mapping[str, Swap] = field(default_factory=dict[str, Swap])
    whole: Set[str] = frozenset()
    """Replacements in ``texts`` that stand for a whole string: a swap by field name then has nothing to add."""


class JsonLeaves:
    """The distinct strings (names of fields included) and long numbers of a value."""

    __slots__ = ("_containers", "names", "numbers", "strings")

    def __init__(self, value: Json) -> None:
        self.numbers: set[int | float] = set()
        self._containers: list[Json] = [[value]]
        """Each container before those inside it, in order; a list that is handled as a group stands as that group."""
        self.strings: dict[str, None] = {}
        self.names: dict[str, None] = dict.fromkeys(chain.from_iterable(self._collect_leaves(self.strings)))
        self.strings |= self.names

    def _collect_leaves(self, strings: dict[str, None]) -> Iterable[tuple[str, ...]]:
        """Collects all leaves and containers; returns the distinct tuples of field names (rows of a table share one)."""
        numbers, containers = self.numbers, self._containers
        shapes: dict[tuple[str, ...], None] = {}
        for at, container in enumerate(containers):  # the list grows during the loop
            values: Any = container
            if type(container) is dict:
                shapes[tuple(container)] = None  # pyright: ignore[reportUnknownArgumentType]
                values = container.values()  # pyright: ignore[reportUnknownVariableType]
            elif len(container) >= ROWS and (group := group_values(container, ROWS)) is not None:
                containers[at] = group
                shapes.update(dict.fromkeys(group.shapes))
                for column in group.columns:
                    strings.update(dict.fromkeys(column))
                containers += group.others
                continue
            for leaf in values:
                kind: object = type(leaf)  # pyright: ignore[reportUnknownVariableType]
                if kind is str:
                    strings[leaf] = None
                elif kind is dict or kind is list:
                    containers.append(leaf)
                elif (kind is int or kind is float) and leaf >= LONG_NUMBER:
                    numbers.add(leaf)
        return shapes

    @property
    def value(self) -> Json:
        """The value that the leaves are from."""
        return self._containers[0][0]

    def rebuild_value(self, swaps: LeafSwaps) -> Json:
        """Returns a copy of the value with everything swapped; its order and shape stay the same."""
        copies = self._copy_swapped(swaps)
        hinted = swaps.fields.keys()
        renamed = not swaps.texts.keys().isdisjoint(self.names)
        # After the swaps above, since a swap by field name overrides what was found in the value.
        for container, copy in zip(self._containers, copies, strict=True) if hinted or renamed else ():
            if type(container) is dict:
                _swap_by_field_name([cast("Json", container)], [copy], swaps, renamed)
            elif type(container) is ColumnTables:
                for table, rows in container.split_rows(copy):
                    undecided = table.find_undecided_fields(hinted, swaps.texts, swaps.whole)
                    if undecided or renamed:
                        fields = {name: swaps.fields[name] for name in undecided}
                        _swap_by_field_name(table.rows, rows, replace(swaps, fields=fields), renamed)
        return copies[0][0]

    def _copy_swapped(self, swaps: LeafSwaps) -> list[Json]:
        """Copies all containers with strings and numbers swapped. It handles every leaf, so it calls no functions."""
        texts, numbers = swaps.texts, swaps.numbers
        copies = [container.copy() for container in self._containers]
        inner = iter(copies)
        next(inner)
        columns: list[Column] = []
        for container, copy in zip(self._containers, copies, strict=True):
            if type(container) is ColumnTables or type(container) is JoinedLists:
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
                elif (kind is int or kind is float) and leaf in numbers:
                    copy[place] = numbers[leaf]
        for rows, name, leaves in columns:  # last, when everything in them has been swapped
            for row, leaf in zip(rows, leaves, strict=True):
                row[name] = leaf
        return copies


def _swap_by_field_name(originals: Iterable[Json], copies: Iterable[Json], swaps: LeafSwaps, renamed: bool) -> None:
    """Swaps values by the names of their fields, and the names themselves."""
    hinted = swaps.fields.keys()
    for fields, copy in zip(originals, copies, strict=True):
        if not hinted.isdisjoint(fields):
            _swap_fields(fields, copy, swaps.fields)
        if renamed:
            _rename_fields(copy, swaps.texts)


def _swap_fields(fields: dict[str, Json], copy: dict[str, Json], swaps: Mapping[str, Swap]) -> None:
    """Swaps the string or number in each named field; if the field holds a list, each one in it and in lists inside it."""
    for name in swaps.keys() & fields.keys():
        leaf, swap = fields[name], swaps[name]
        if type(leaf) is str or type(leaf) in NUMBER_TYPES:
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
            if type(leaf) is str or type(leaf) in NUMBER_TYPES:
                placed = swap(leaf)
                copies[at] = copies[at] if placed is leaf else placed
            elif type(leaf) is list:
                stack.append((cast("list[Json]", leaf), copies[at]))


def _rename_fields(copy: dict[str, Json], texts: Mapping[str, Json]) -> None:
    """Renames fields in place, since other containers already refer to this object."""
    renamed = {str(texts.get(name, name)): leaf for name, leaf in copy.items()}
    copy.clear()
    copy.update(renamed)


_LIST_TYPES = (list, tuple)
_SCALAR_TYPES = frozenset((str, int, float, bool, type(None)))


def collect_scalars(value: Json, *, names: bool) -> list[Json]:
    """Returns every string, number, true, false and null in ``value``; with ``names`` also the names of its fields."""
    found: list[Json] = []
    stack: list[Iterable[Json]] = [(value,)]
    while stack:
        for item in stack.pop():
            kind: object = type(item)  # pyright: ignore[reportUnknownVariableType]
            if kind in _SCALAR_TYPES:  # true for most; a check for Mapping takes ten times as long
                found.append(item)
            elif kind is dict or isinstance(item, Mapping):
                if names:
                    found.extend(item)  # pyright: ignore[reportUnknownArgumentType]
                stack.append(item.values())  # pyright: ignore[reportUnknownArgumentType]
            elif isinstance(item, _LIST_TYPES):
                stack.append(item)  # pyright: ignore[reportUnknownArgumentType]
            else:
                found.append(item)
    return found
