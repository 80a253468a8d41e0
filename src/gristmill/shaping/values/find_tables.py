"""Lists of like objects are tables: their columns, and the cells of a row in the columns' order."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import cast

from gristmill.model import Json
from gristmill.shaping.values.describe_value import kinds, summarize
from gristmill.values import dataclass

KEY = "(key)"
"""The column that holds the keys where the rows are the values of an object."""
PROBED = 100
MOST_CELLS = 500_000
Row = Mapping[str, Json]


@dataclass(slots=True)
class Table:
    """Rows and their columns; what is learned of a column is remembered, as it is asked for at every step."""

    rows: Sequence[Row]
    columns: tuple[str, ...]
    _told: dict[str, str] = field(default_factory=dict[str, str])

    def about(self, column: str, *, statistics: bool) -> str:
        """Kind of the column, with a summary of its values if wanted."""
        if not statistics:
            return self._kind(column)
        if column not in self._told:
            self._told[column] = self._summary(column)
        return self._told[column]

    def _kind(self, column: str) -> str:
        return kinds([row[column] for row in self.rows[:PROBED] if column in row])

    def _summary(self, column: str) -> str:
        looked = self._looked_at()
        present = [row[column] for row in looked if column in row]
        missing = len(looked) - len(present)
        sampled = f", from {len(looked):,} of the rows" if len(looked) < len(self.rows) else ""
        return summarize(present) + (f", missing in {missing:,}" if missing else "") + sampled

    def _looked_at(self) -> Sequence[Row]:
        # The work is bounded by cells, so that a wide table of millions of cells takes as long as a narrow one.
        stride = -(-len(self.rows) * len(self.columns) // MOST_CELLS)
        return self.rows[::stride] if stride > 1 else self.rows


def table_of(values: Sequence[Json]) -> Table | None:
    """The table that ``values`` are, if they are objects with much the same keys."""
    probed = [*values[:PROBED], *values[-PROBED:], *values[:: max(1, len(values) // PROBED)]]
    if len(values) < 2 or not all(isinstance(value, dict) and bool(cast("Row", value)) for value in probed):
        return None
    rows = cast("list[Row]", probed)
    columns = {column: None for row in rows for column in row}
    alike = sum(map(len, rows)) * 2 >= len(columns) * len(rows)
    if not alike or set(map(type, values)) != {dict}:
        return None
    return Table(rows=cast("Sequence[Row]", values), columns=tuple(columns))


def table_of_object(value: Mapping[str, Json]) -> Table | None:
    """The table that the values of an object are, with its keys as the first column."""
    found = table_of(list(value.values())) if len(value) > 4 else None
    if found is None or KEY in found.columns:
        return None
    rows = [{KEY: key, **row} for key, row in zip(value, found.rows, strict=True)]
    return Table(rows=rows, columns=(KEY, *found.columns))
