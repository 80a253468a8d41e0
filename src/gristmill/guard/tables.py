"""Long lists of objects that all have the same fields, taken by column, and of lists, taken together: most large values are made
of them, and for a thousand strings at once Python needs a fraction of the time that it needs for one after the other."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from itertools import chain
from typing import Any, cast

from gristmill.model import Json

LONG_NUMBER = 10**11
"""Integers from here on have the twelve digits of the shortest card number."""
ROWS = 32
"""Objects or lists from which on they are taken together."""

Column = tuple[list[dict[str, Json]], str, list[Json]]
"""Rows, the name of a field of theirs, and what stands there in each."""
_SEEN = frozenset((str, int, dict, list))
"""Types of which something may have to be swapped."""
_INNER = frozenset((dict, list))
_names = cast("Callable[[Json], tuple[str, ...]]", tuple)
_values = cast("Callable[[Json], Iterable[Json]]", dict.values)  # pyright: ignore[reportUnknownMemberType]


class Table:
    """The rows, their ``texts`` by column where a column has nothing but strings, and ``others`` that must be looked at."""

    __slots__ = ("names", "others", "rows", "texts")

    def __init__(self, rows: list[dict[str, Json]], names: tuple[str, ...]) -> None:
        self.rows, self.names = rows, names
        self.texts: dict[str, tuple[str, ...]] = {}
        self.others: dict[str, list[Json]] = {}
        columns: Iterable[tuple[Any, ...]] = zip(*map(_values, rows), strict=True)
        for name, column in zip(names, columns, strict=True):
            kinds: set[object] = set(map(type, column))
            if kinds == {str}:
                self.texts[name] = column
            elif not kinds.isdisjoint(_SEEN) and not (kinds == {int} and max(column) < LONG_NUMBER):
                self.others[name] = list(column)

    @classmethod
    def of(cls, values: Json) -> "Table | None":
        """These as a table, if they are one."""
        if type(values[0]) is not dict or set(map(type, values)) != {dict}:
            return None
        rows = cast("list[dict[str, Json]]", values)
        names = _names(rows[0])
        return cls(rows, names) if names and set(map(_names, rows)) == {names} else None

    def copy(self) -> list[dict[str, Json]]:
        """The rows, each a copy."""
        return [row.copy() for row in self.rows]

    def swap(self, rows: list[dict[str, Json]], texts: Mapping[str, Json], inner: Iterator[Json]) -> list[Column]:
        """Swap the strings in the copies of the rows; the other columns, whose copies are the next of ``inner``, are to be put
        back once they are swapped themselves."""
        for name, column in self.texts.items():
            if not texts.keys().isdisjoint(column):
                for row, leaf in zip(rows, map(texts.get, column, column), strict=True):
                    row[name] = leaf
        return [(rows, name, next(inner)) for name in self.others]

    def undecided(self, names: Set[str], texts: Mapping[str, Json], whole: Set[str]) -> frozenset[str]:
        """Those of the fields ``names`` in which not every string was swapped for one of ``whole``."""
        return frozenset(
            name for name in names & set(self.names)
            if name not in self.texts or not whole >= set(map(texts.get, self.texts[name]))
        )  # fmt: skip


class Lists:
    """The lists, with nothing but strings in them and what stays as it is."""

    __slots__ = ("_lists", "texts")

    def __init__(self, lists: list[list[Json]], texts: list[str]) -> None:
        self._lists, self.texts = lists, texts

    @classmethod
    def of(cls, values: Json) -> "Lists | None":
        """These as such lists, if they are."""
        if type(values[0]) is not list or set(map(type, values)) != {list}:
            return None
        lists = cast("list[list[Json]]", values)
        leaves = list(chain.from_iterable(lists))
        kinds: set[object] = set(map(type, leaves))
        if not kinds.isdisjoint(_INNER) or (int in kinds and any(type(leaf) is int and leaf >= LONG_NUMBER for leaf in leaves)):
            return None
        return cls(lists, leaves if kinds == {str} else [leaf for leaf in leaves if type(leaf) is str])

    def copy(self) -> list[list[Json]]:
        """The lists, each a copy."""
        return [each.copy() for each in self._lists]

    def swap(self, lists: list[list[Json]], texts: Mapping[str, Json], _: Iterator[Json]) -> list[Column]:
        """Swap the strings in the copies; nothing is to be put back."""
        if not texts.keys().isdisjoint(self.texts):
            for each in lists:
                each[:] = map(texts.get, each, each)
        return []
