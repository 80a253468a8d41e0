"""Shows long lists and tables by some of their items: the first and last, evenly spaced ones, or none."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from gristmill.model import Json, Strategy
from gristmill.shaping.detail_ladder import DetailStep
from gristmill.shaping.shape_draft import Path
from gristmill.shaping.text.fold_text import fold_text
from gristmill.shaping.values.describe_value import describe_kinds, summarize_values
from gristmill.shaping.values.find_tables import Row, RowTable

ShapeItem = Callable[[Json, Path], Json]
"""Shapes one item, given its place in the list; or a cell, given its row and its column."""


class ShownItems(Struct, frozen=True, kw_only=True):
    """What is shown of a list, and the place of the first item that is not shown."""

    value: Json
    start: int
    left: int


def show_list(values: Sequence[Json], detail: DetailStep, strategy: Strategy, inner: ShapeItem) -> ShownItems:
    """Shows a list as ``{"list": {"items": 10000, "of": "integer, 1 to 9, mean 5", "head": [...], "tail": [...]}}``."""
    about = summarize_values(values) if strategy == "summarize" and detail.statistics else describe_kinds(values[:1_000])
    picked = _pick_places(len(values), detail.rows, strategy)
    items = {name: [inner(values[place], (place,)) for place in places] for name, places in picked.items()}
    return ShownItems(
        value={"list": {"items": len(values), "of": about, **items}},
        start=_find_first_hidden(picked),
        left=_count_hidden(values, picked),
    )


def show_table(table: RowTable, detail: DetailStep, strategy: Strategy, inner: ShapeItem) -> ShownItems:
    """Shows a table as ``{"table": {"rows": 10000, "columns": {"id": "integer, 1 to 10000", ...}, "head": [[1, ...]], ...}}``.

    Rows are arrays in the order of the columns.
    """
    columns = table.columns[: detail.columns]
    width = max(24, detail.text // 4)
    names = [fold_text(column, width) for column in columns]
    about: Json = names
    if strategy != "head_tail":
        statistics = strategy == "summarize" and detail.statistics
        said = [table.describe_column(column, statistics=statistics) for column in columns]
        about = dict(zip(_make_distinct(names), said, strict=True))
    picked = _pick_places(len(table.rows), detail.rows, strategy)

    def shape_row(place: int) -> list[Json]:
        return [inner(table.rows[place].get(column), (place, column)) for column in columns]

    rows = {name: [shape_row(place) for place in places] for name, places in picked.items()}
    more = len(table.columns) - len(columns)
    folded = {"more_columns": more} if more else {}
    shown = {"rows": len(table.rows), "columns": about, **folded, **rows}
    return ShownItems(value={"table": shown}, start=_find_first_hidden(picked), left=_count_hidden(table.rows, picked))


def _make_distinct(names: list[str]) -> list[str]:
    """Numbers the names if two long ones became equal when they were folded: as keys they must differ."""
    return names if len(set(names)) == len(names) else [f"{name} ({place})" for place, name in enumerate(names, 1)]


def _pick_places(length: int, most: int, strategy: Strategy) -> dict[str, range | list[int]]:
    if strategy == "schema_only":
        return {}
    if most >= length:
        return {"all": range(length)}
    if strategy == "sample":
        return {"sample": [index * (length - 1) // (most - 1) for index in range(most)]}
    head = most - most // 3
    return {"head": range(head), "tail": range(length - (most - head), length)}


def _find_first_hidden(picked: dict[str, range | list[int]]) -> int:
    return len(picked.get("head", picked.get("all", ())))


def _count_hidden(values: Sequence[Json] | Sequence[Row], picked: dict[str, range | list[int]]) -> int:
    return len(values) - sum(map(len, picked.values()))
