"""A JSON value as its strings and numbers, and back. Without recursion: how deep a value is nested is a stranger's choice.

Most large values are tables. So what is nested equally deep is taken together, and objects with the same fields by column: for
a thousand strings at once the processor needs a fraction of the time that it needs for one after the other.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field
from itertools import chain, islice
from typing import cast

from gristmill.model import Json
from gristmill.values import dataclass

LONG_NUMBER = 10**11
"""Integers from here on have the twelve digits of the shortest card number."""

Swap = Callable[[Json], Json]
"""A string or number → what stands in its place; itself, to leave it to the others."""

Some = Collection[Json]

_ENOUGH = 16
"""Leaves from which on it pays to ask whether all are of one type."""
_ROWS = 4
"""Objects with the same fields from which on they are a table."""
_AS_THEY_ARE, _TEXTS, _CONTAINERS, _EACH = range(4)
"""How some leaves are swapped: not at all, as nothing but strings, as nothing but containers, one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Swaps:
    """What stands in the place of strings (names of fields too), of numbers, and of either in some fields."""

    texts: Mapping[str, Json]
    numbers: Mapping[int, Json] = field(default_factory=dict[int, Json])
    fields: Mapping[str, Swap] = field(default_factory=dict[str, Swap])


class Group:
    """Some containers of one level and their leaves: of a table column by column, of others all in one row."""

    __slots__ = ("columns", "names", "places")

    def __init__(self, places: list[int], names: tuple[str, ...] | None, columns: list[tuple[Some, int]]) -> None:
        self.places = places
        self.names = names
        self.columns = columns
        """Each with how it is swapped."""


class Leaves:
    """The distinct strings, names of fields among them, and long numbers of a value."""

    __slots__ = ("_levels", "_strings", "names", "numbers", "strings", "value")

    def __init__(self, value: Json) -> None:
        self.value = value
        self.numbers: set[int] = set()
        self.names: dict[str, None] = {}
        self._strings: list[Some] = []
        self._levels: list[tuple[list[Json], list[Group]]] = []
        # A string or number alone is that of a list.
        level: list[Json] = [value if type(value) is dict or type(value) is list else [value]]
        while level:
            level = self._walk(level)
        self.strings: dict[str, None] = dict.fromkeys(chain(self.names, *self._strings))

    def _walk(self, level: list[Json]) -> list[Json]:
        """Take in what these containers hold; the containers in them, in the order in which they are met."""
        inner: list[Json] = []
        groups: list[Group] = []
        for names, places in self._grouped(level):
            some = [level[at] for at in places]
            columns = (_in_a_row(some),) if names is None else zip(*map(_values, some), strict=True)
            groups.append(Group(places, names, [(leaves, self._take(leaves, inner)) for leaves in columns]))
        self._levels.append((level, groups))
        return inner

    def _grouped(self, level: list[Json]) -> list[tuple[tuple[str, ...] | None, list[int]]]:
        """The places of containers that are best taken together, with the names of their fields if they are a table."""
        if len(level) == 1:  # so it is with short values, which need none of the rest
            if type(level[0]) is dict:
                self.names.update(dict.fromkeys(level[0]))  # pyright: ignore[reportUnknownArgumentType]
            return [(None, [0])]
        groups: list[tuple[tuple[str, ...] | None, list[int]]] = []
        tables: dict[tuple[str, ...], list[int]] = {}
        others: list[int] = []
        last, places = None, others
        for at, container in enumerate(level):
            if type(container) is dict:
                names = cast("tuple[str, ...]", tuple(container))  # pyright: ignore[reportUnknownArgumentType]
                if names != last:  # sooner answered than where to look them up
                    last, places = names, tables.setdefault(names, [])
                places.append(at)
            elif len(container) < _ENOUGH:
                others.append(at)
            else:
                groups.append((None, [at]))
        for names, places in tables.items():
            self.names.update(dict.fromkeys(names))
            if len(places) >= _ROWS:
                groups.append((names, places))
            else:
                others += places
        return [*groups, (None, others)] if others else groups

    def _take(self, leaves: Some, inner: list[Json]) -> int:
        """Take in some leaves, of which the containers are ``inner``; how they are swapped."""
        kind: object
        if len(leaves) >= _ENOUGH and len(kinds := set(map(type, leaves))) == 1:
            kind = kinds.pop()
            if kind is str:
                self._strings.append(leaves)
                return _TEXTS
            if kind is dict or kind is list:
                inner += leaves
                return _CONTAINERS
            if kind is not int or max(leaves) < LONG_NUMBER:
                return _AS_THEY_ARE
        strings: list[Json] = []
        self._strings.append(strings)
        for leaf in leaves:
            kind = type(leaf)  # pyright: ignore[reportUnknownVariableType]
            if kind is str:
                strings.append(leaf)
            elif kind is dict or kind is list:
                inner.append(leaf)
            elif kind is int and leaf >= LONG_NUMBER:
                self.numbers.add(leaf)
        return _EACH

    def rebuilt(self, swaps: Swaps) -> Json:
        """A copy of the value with everything swapped; its order and shape stay."""
        copies = [[container.copy() for container in level] for level, _ in self._levels]
        for (_, groups), level, inner in zip(self._levels, copies, (*copies[1:], ()), strict=True):
            _swap_level(groups, level, iter(inner), swaps)
        # Only now: what the name of a field says goes before what was found in its value.
        if not self.names.keys().isdisjoint((*swaps.fields, *swaps.texts)):
            for (originals, groups), level in zip(self._levels, copies, strict=True):
                for group in groups:
                    _swap_names(group, originals, level, swaps)
        return copies[0][0] if self._levels[0][0][0] is self.value else copies[0][0][0]


_values = cast("Callable[[Json], Some]", dict.values)  # pyright: ignore[reportUnknownMemberType]


def _in_a_row(containers: list[Json]) -> Some:
    """All they hold."""
    if len(containers) == 1:
        return containers[0].values() if type(containers[0]) is dict else containers[0]  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    each = [container.values() if type(container) is dict else container for container in containers]  # pyright: ignore[reportUnknownVariableType]
    return list(chain.from_iterable(cast("list[Some]", each)))  # pyright: ignore[reportUnknownVariableType]


def _swap_level(groups: list[Group], level: list[Json], inner: Iterator[Json], swaps: Swaps) -> None:
    """Strings and numbers in the copies of one level, and the copies of what is in those."""
    for group in groups:
        placed = [_placed(leaves, how, inner, swaps) for leaves, how in group.columns]
        if group.names is None:
            _fill([level[at] for at in group.places], placed[0])
        else:
            rows = [level[at] for at in group.places]
            for name, leaves in zip(group.names, placed, strict=True):
                for copy, leaf in zip(rows, leaves, strict=True) if leaves is not None else ():
                    copy[name] = leaf


def _placed(leaves: Some, how: int, inner: Iterator[Json], swaps: Swaps) -> Iterable[Json] | None:
    """What stands in the place of some leaves; nothing, if they stay as they are. Every leaf passes here: no calls."""
    texts, numbers = swaps.texts, swaps.numbers
    if how == _TEXTS:
        return None if texts.keys().isdisjoint(leaves) else map(texts.get, leaves, leaves)
    if how != _EACH:
        return list(islice(inner, len(leaves))) if how == _CONTAINERS else None
    placed = list(leaves)
    for at, leaf in enumerate(placed):
        kind: object = type(leaf)  # pyright: ignore[reportUnknownVariableType]
        if kind is str:
            if leaf in texts:
                placed[at] = texts[leaf]
        elif kind is dict or kind is list:
            placed[at] = next(inner)
        elif kind is int and leaf in numbers:
            placed[at] = numbers[leaf]
    return placed


def _fill(copies: list[Json], placed: Iterable[Json] | None) -> None:
    """Put leaves back that were taken in a row."""
    rest = iter(placed or ())
    for copy in copies if placed is not None else ():
        if type(copy) is dict:
            fields = cast("dict[str, Json]", copy)
            fields.update(zip(fields, rest, strict=False))
        else:
            copy[:] = islice(rest, len(copy))


def _swap_names(group: Group, originals: list[Json], copies: list[Json], swaps: Swaps) -> None:
    """What the names of fields say about leaves, and the names themselves."""
    hinted, renamed = swaps.fields.keys(), swaps.texts.keys()
    together = [(group.names, group.places)] if group.names else ((originals[at], [at]) for at in group.places)
    for names, places in together:
        if type(originals[places[0]]) is dict:
            for name in hinted & names:
                _swap_field(name, [(originals[at], copies[at]) for at in places], swaps.fields[name])
            if not renamed.isdisjoint(names):
                for at in places:
                    _rename(copies[at], swaps.texts)


def _swap_field(name: str, rows: list[tuple[dict[str, Json], dict[str, Json]]], swap: Swap) -> None:
    """What stands in the place of a string or number in such a field; in a list, and in lists in it, of each."""
    for fields, copy in rows:
        leaf = fields[name]
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
