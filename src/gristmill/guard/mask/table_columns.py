"""Handles long lists of similar objects by column, and long lists of lists as one. Most large values consist of these, and
Python handles a thousand strings at once in a fraction of the time that it needs one by one."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from itertools import chain
from typing import Any, cast

from gristmill.model import Json

LONG_NUMBER = 10**11
"""The least number with twelve digits, the length of the shortest card number."""
ROWS = 32
"""The least number of objects or lists that are handled as a group."""

Row = dict[str, Json]
Shape = tuple[str, ...]
"""The names of the fields of an object."""
Column = tuple[list[Row], str, list[Json]]
"""Rows, the name of one of their fields, and its value in each row."""
NUMBER_TYPES = frozenset((int, float))
"""Types of numbers; a card number is a float where a spreadsheet or a data frame has read it."""
_PLAIN_TYPES = NUMBER_TYPES | {bool, type(None)}
"""Types of values that are never swapped, except for long numbers."""
_CONTAINER_TYPES = frozenset((dict, list))
_read_shape = cast("Callable[[Json], Shape]", tuple)
_read_values = cast("Callable[[Json], Iterable[Json]]", dict.values)  # pyright: ignore[reportUnknownMemberType]


def group_values(values: Json, least: int) -> "ColumnTables | JoinedLists | None":
    """Returns the values as a group if they can be handled as one: at least ``least`` objects per shape, or plain lists."""
    kind: object = type(values[0])  # pyright: ignore[reportUnknownVariableType]
    if kind not in _CONTAINER_TYPES or set(map(type, values)) != {kind}:
        return None
    return ColumnTables.from_rows(values, least) if kind is dict else JoinedLists.from_lists(values)


def _has_long_number(kinds: Set[object], column: tuple[Any, ...]) -> bool:
    """Tells whether a column of numbers, true, false and null may hold a long number."""
    if kinds.isdisjoint(NUMBER_TYPES):
        return False
    numbers = column if kinds <= NUMBER_TYPES else [leaf for leaf in column if leaf is not None]
    return not max(numbers) < LONG_NUMBER  # also if the greatest is not a number


class ColumnTable:
    """Rows of one shape: ``texts`` are the columns of strings only, ``others`` the other columns that must be looked at."""

    __slots__ = ("others", "rows", "shape", "texts")

    def __init__(self, rows: list[Row], shape: Shape) -> None:
        self.rows, self.shape = rows, shape
        self.texts: dict[str, tuple[str, ...]] = {}
        self.others: dict[str, list[Json]] = {}
        columns: Iterable[tuple[Any, ...]] = zip(*map(_read_values, rows), strict=True)
        for name, column in zip(shape, columns, strict=True):
            kinds: set[object] = set(map(type, column))
            if kinds == {str}:
                self.texts[name] = column
            elif not kinds <= _PLAIN_TYPES or _has_long_number(kinds, column):
                self.others[name] = list(column)

    def swap(self, rows: list[Row], texts: Mapping[str, Json], inner: Iterator[Json]) -> list[Column]:
        """Swaps the strings in the copied rows. Returns the other columns, whose copies come next in ``inner``; the caller puts
        them back when they have been swapped."""
        for name, column in self.texts.items():
            if not texts.keys().isdisjoint(column):
                for row, leaf in zip(rows, map(texts.get, column, column), strict=True):
                    row[name] = leaf
        return [(rows, name, next(inner)) for name in self.others]

    def find_undecided_fields(self, names: Set[str], texts: Mapping[str, Json], whole: Set[str]) -> frozenset[str]:
        """Returns those of the fields ``names`` in which not every value became one of ``whole``."""
        return frozenset(
            name for name in names & set(self.shape)
            if name not in self.texts or not whole >= set(map(texts.get, self.texts[name]))
        )  # fmt: skip


class ColumnTables:
    """Objects of a few shapes, with one table for each shape."""

    __slots__ = ("_places", "_rows", "_tables", "columns", "others", "shapes")

    def __init__(self, rows: list[Row], places: Mapping[Shape, list[int]]) -> None:
        self._rows, self._places, self.shapes = rows, list(places.values()), tuple(places)
        self._tables = [ColumnTable(self._select_rows(at, rows), shape) for at, shape in enumerate(places)]
        self.columns = [column for table in self._tables for column in table.texts.values()]
        self.others = [column for table in self._tables for column in table.others.values()]

    @classmethod
    def from_rows(cls, rows: list[Row], least: int) -> "ColumnTables | None":
        """Builds tables from the rows; None when they have too many shapes."""
        shapes = list(map(_read_shape, rows))
        distinct = dict.fromkeys(shapes)
        if len(distinct) * least > len(rows):
            return None
        places: defaultdict[Shape, list[int]] = defaultdict(list)
        for at, shape in enumerate(shapes) if len(distinct) > 1 else ():
            places[shape].append(at)
        return cls(rows, places or {shapes[0]: []})

    def copy(self) -> list[Row]:
        """Returns a copy of each row."""
        return [row.copy() for row in self._rows]

    def split_rows(self, rows: list[Row]) -> Iterator[tuple[ColumnTable, list[Row]]]:
        """Yields each table with its rows from ``rows``, the copies of all rows."""
        for at, table in enumerate(self._tables):
            yield table, self._select_rows(at, rows)

    def swap(self, rows: list[Row], texts: Mapping[str, Json], inner: Iterator[Json]) -> list[Column]:
        """Swaps the strings in the copied rows; returns the columns to be put back."""
        return [column for table, some in self.split_rows(rows) for column in table.swap(some, texts, inner)]

    def _select_rows(self, at: int, rows: list[Row]) -> list[Row]:
        """Returns the rows of one shape (all rows if there is only one shape)."""
        return [rows[place] for place in self._places[at]] if len(self._places) > 1 else rows


class JoinedLists:
    """Lists that hold only strings and values that are never swapped."""

    __slots__ = ("_lists", "columns")
    shapes: tuple[Shape, ...] = ()
    others: tuple[list[Json], ...] = ()

    def __init__(self, lists: list[list[Json]], texts: list[str]) -> None:
        self._lists, self.columns = lists, (texts,)

    @classmethod
    def from_lists(cls, lists: list[list[Json]]) -> "JoinedLists | None":
        """Builds a group from the lists; None when one holds a container or a long number."""
        leaves = list(chain.from_iterable(lists))
        kinds: set[object] = set(map(type, leaves))
        if not kinds.isdisjoint(_CONTAINER_TYPES) or (
            not kinds.isdisjoint(NUMBER_TYPES) and any(type(leaf) in NUMBER_TYPES and leaf >= LONG_NUMBER for leaf in leaves)
        ):
            return None
        return cls(lists, leaves if kinds == {str} else [leaf for leaf in leaves if type(leaf) is str])

    def copy(self) -> list[list[Json]]:
        """Returns a copy of each list."""
        return [each.copy() for each in self._lists]

    def swap(self, lists: list[list[Json]], texts: Mapping[str, Json], _: Iterator[Json]) -> list[Column]:
        """Swaps the strings in the copied lists; no column has to be put back."""
        if not texts.keys().isdisjoint(self.columns[0]):
            for each in lists:
                each[:] = map(texts.get, each, each)
        return []
