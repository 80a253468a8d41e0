"""Recognizes lists of similar objects as tables: finds their columns and describes them."""

from collections.abc import Mapping, Sequence
from typing import cast

from msgspec import Struct, field

from gristmill.model import Json
from gristmill.shaping.values.describe_value import describe_kinds, summarize_values

KEY_COLUMN = "(key)"
"""The column that holds the keys, if the rows are the values of an object."""
PROBED_ROWS = 100
MAX_CELLS = 500_000
Row = Mapping[str, Json]


class RowTable(Struct):
    """Rows and their columns. Summaries of columns are cached, because every step of the ladder asks for them."""

    rows: Sequence[Row]
    columns: tuple[str, ...]
    _summaries: dict[str, str] = field(default_factory=dict[str, str])

    def describe_column(self, column: str, *, statistics: bool) -> str:
        """Returns the kind of the column, with a summary of its values if ``statistics`` is set."""
        if not statistics:
            return self._describe_kind(column)
        if column not in self._summaries:
            self._summaries[column] = self._summarize_column(column)
        return self._summaries[column]

    def _describe_kind(self, column: str) -> str:
        return describe_kinds([row[column] for row in self.rows[:PROBED_ROWS] if column in row])

    def _summarize_column(self, column: str) -> str:
        looked = self._sample_rows()
        present = [row[column] for row in looked if column in row]
        missing = len(looked) - len(present)
        sampled = f", from {len(looked):,} of the rows" if len(looked) < len(self.rows) else ""
        return summarize_values(present) + (f", missing in {missing:,}" if missing else "") + sampled

    def _sample_rows(self) -> Sequence[Row]:
        # The work is limited by cells, so that a wide table of millions of cells takes no longer than a narrow one.
        stride = -(-len(self.rows) * len(self.columns) // MAX_CELLS)
        return self.rows[::stride] if stride > 1 else self.rows


def find_table(values: Sequence[Json]) -> RowTable | None:
    """Returns ``values`` as a table if they are objects with mostly the same keys, else None."""
    probed = [*values[:PROBED_ROWS], *values[-PROBED_ROWS:], *values[:: max(1, len(values) // PROBED_ROWS)]]
    if len(values) < 2 or not all(isinstance(value, dict) and bool(cast("Row", value)) for value in probed):
        return None
    rows = cast("list[Row]", probed)
    columns = {column: None for row in rows for column in row}
    alike = sum(map(len, rows)) * 2 >= len(columns) * len(rows)
    if not alike or set(map(type, values)) != {dict}:
        return None
    return RowTable(rows=cast("Sequence[Row]", values), columns=tuple(columns))


def find_object_table(value: Mapping[str, Json]) -> RowTable | None:
    """Returns the values of an object as a table, with its keys as the first column; None if they form no table."""
    found = find_table(list(value.values())) if len(value) > 4 else None
    if found is None or KEY_COLUMN in found.columns:
        return None
    rows = [{KEY_COLUMN: key, **row} for key, row in zip(value, found.rows, strict=True)]
    return RowTable(rows=rows, columns=(KEY_COLUMN, *found.columns))
