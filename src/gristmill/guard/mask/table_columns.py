"""Long lists of objects of a few shapes, taken by column, and of lists, taken together: most large values are made of them, and
for a thousand strings at once Python needs a fraction of the time that it needs for one after the other."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from itertools import chain
from typing import Any, cast

from gristmill.model import Json

LONG_NUMBER = 10**11
"""Integers from here on have the twelve digits of the shortest card number."""
ROWS = 32
"""Objects or lists from which on they are taken together."""

Row = dict[str, Json]
Shape = tuple[str, ...]
"""The names of the fields of an object."""
Column = tuple[list[Row], str, list[Json]]
"""Rows, the name of a field of theirs, and what stands there in each."""
_SEEN = frozenset((str, int, dict, list))
"""Types of which something may have to be swapped."""
_INNER = frozenset((dict, list))
_shape = cast("Callable[[Json], Shape]", tuple)
_values = cast("Callable[[Json], Iterable[Json]]", dict.values)  # pyright: ignore[reportUnknownMemberType]


def together(values: Json, least: int) -> "Tables | Lists | None":
    """These as something that can be taken together, if they can: at least so many of a shape."""
    kind: object = type(values[0])  # pyright: ignore[reportUnknownVariableType]
    if kind not in _INNER or set(map(type, values)) != {kind}:
        return None
    return Tables.of(values, least) if kind is dict else Lists.of(values)


class Table:
    """Rows of one shape, their ``texts`` by column where a column has nothing but strings, and ``others`` that must be looked
    at."""

    __slots__ = ("others", "rows", "shape", "texts")

    def __init__(self, rows: list[Row], shape: Shape) -> None:
        self.rows, self.shape = rows, shape
        self.texts: dict[str, tuple[str, ...]] = {}
        self.others: dict[str, list[Json]] = {}
        columns: Iterable[tuple[Any, ...]] = zip(*map(_values, rows), strict=True)
        for name, column in zip(shape, columns, strict=True):
            kinds: set[object] = set(map(type, column))
            if kinds == {str}:
                self.texts[name] = column
            elif not kinds.isdisjoint(_SEEN) and not (kinds == {int} and max(column) < LONG_NUMBER):
                self.others[name] = list(column)

    def swap(self, rows: list[Row], texts: Mapping[str, Json], inner: Iterator[Json]) -> list[Column]:
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
            name for name in names & set(self.shape)
            if name not in self.texts or not whole >= set(map(texts.get, self.texts[name]))
        )  # fmt: skip


class Tables:
    """Objects of a few shapes: a table of each."""

    __slots__ = ("_places", "_rows", "_tables", "columns", "others", "shapes")

    def __init__(self, rows: list[Row], places: Mapping[Shape, list[int]]) -> None:
        self._rows, self._places, self.shapes = rows, list(places.values()), tuple(places)
        self._tables = [Table(self._of(at, rows), shape) for at, shape in enumerate(places)]
        self.columns = [column for table in self._tables for column in table.texts.values()]
        self.others = [column for table in self._tables for column in table.others.values()]

    @classmethod
    def of(cls, rows: list[Row], least: int) -> "Tables | None":
        """These as tables, unless their shapes are too many."""
        shapes = list(map(_shape, rows))
        distinct = dict.fromkeys(shapes)
        if len(distinct) * least > len(rows):
            return None
        places: defaultdict[Shape, list[int]] = defaultdict(list)
        for at, shape in enumerate(shapes) if len(distinct) > 1 else ():
            places[shape].append(at)
        return cls(rows, places or {shapes[0]: []})

    def copy(self) -> list[Row]:
        """The rows, each a copy."""
        return [row.copy() for row in self._rows]

    def parts(self, rows: list[Row]) -> Iterator[tuple[Table, list[Row]]]:
        """Each table, and those of the copies of all rows that are of it."""
        for at, table in enumerate(self._tables):
            yield table, self._of(at, rows)

    def swap(self, rows: list[Row], texts: Mapping[str, Json], inner: Iterator[Json]) -> list[Column]:
        """Swap the strings in the copies; columns to be put back."""
        return [column for table, some in self.parts(rows) for column in table.swap(some, texts, inner)]

    def _of(self, at: int, rows: list[Row]) -> list[Row]:
        """Those of one shape; of the only one, all."""
        return [rows[place] for place in self._places[at]] if len(self._places) > 1 else rows


class Lists:
    """Lists with nothing but strings in them and what stays as it is."""

    __slots__ = ("_lists", "columns")
    shapes: tuple[Shape, ...] = ()
    others: tuple[list[Json], ...] = ()

    def __init__(self, lists: list[list[Json]], texts: list[str]) -> None:
        self._lists, self.columns = lists, (texts,)

    @classmethod
    def of(cls, lists: list[list[Json]]) -> "Lists | None":
        """These as such lists, if they are."""
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
        if not texts.keys().isdisjoint(self.columns[0]):
            for each in lists:
                each[:] = map(texts.get, each, each)
        return []
