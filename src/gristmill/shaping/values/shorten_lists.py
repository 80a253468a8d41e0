"""Long lists and tables, shown by some of their items: first and last, or evenly spaced, or none."""

from collections.abc import Callable, Sequence

from gristmill.model import Json, Strategy
from gristmill.shaping.detail_ladder import Detail
from gristmill.shaping.shape_draft import Path
from gristmill.shaping.text.fold_text import fold
from gristmill.shaping.values.describe_value import kinds, summarize
from gristmill.shaping.values.find_tables import Row, Table
from gristmill.values import dataclass

Inner = Callable[[Json, Path], Json]
"""Shapes one item, given its place in the list; a cell, given its row and its column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What is shown of a list, and the place of the first item that is not."""

    value: Json
    start: int
    left: int


def show_list(values: Sequence[Json], detail: Detail, strategy: Strategy, inner: Inner) -> Shown:
    """``{"list": {"items": 10000, "of": "integer, 1 to 9, mean 5", "head": [...], "tail": [...]}}``."""
    about = summarize(values) if strategy == "summarize" and detail.statistics else kinds(values[:1_000])
    picked = _pick(len(values), detail.rows, strategy)
    items = {name: [inner(values[place], (place,)) for place in places] for name, places in picked.items()}
    return Shown(value={"list": {"items": len(values), "of": about, **items}}, start=_start(picked), left=_left(values, picked))


def show_table(table: Table, detail: Detail, strategy: Strategy, inner: Inner) -> Shown:
    """``{"table": {"rows": 10000, "columns": {"id": "integer, 1 to 10000, mean 5000.5", ...}, "head": [[1, ...]], ...}}``.

    Rows are arrays in the order of the columns.
    """
    columns = table.columns[: detail.columns]
    width = max(24, detail.text // 4)
    names = [fold(column, width) for column in columns]
    about: Json = names
    if strategy != "head_tail":
        statistics = strategy == "summarize" and detail.statistics
        said = [table.about(column, statistics=statistics) for column in columns]
        about = dict(zip(_distinct(names), said, strict=True))
    picked = _pick(len(table.rows), detail.rows, strategy)

    def row(place: int) -> list[Json]:
        return [inner(table.rows[place].get(column), (place, column)) for column in columns]

    rows = {name: [row(place) for place in places] for name, places in picked.items()}
    more = len(table.columns) - len(columns)
    folded = {"more_columns": more} if more else {}
    shown = {"rows": len(table.rows), "columns": about, **folded, **rows}
    return Shown(value={"table": shown}, start=_start(picked), left=_left(table.rows, picked))


def _distinct(names: list[str]) -> list[str]:
    """Two long names may look alike once they are folded; as keys they must not."""
    return names if len(set(names)) == len(names) else [f"{name} ({place})" for place, name in enumerate(names, 1)]


def _pick(length: int, most: int, strategy: Strategy) -> dict[str, range | list[int]]:
    if strategy == "schema_only":
        return {}
    if most >= length:
        return {"all": range(length)}
    if strategy == "sample":
        return {"sample": [index * (length - 1) // (most - 1) for index in range(most)]}
    head = most - most // 3
    return {"head": range(head), "tail": range(length - (most - head), length)}


def _start(picked: dict[str, range | list[int]]) -> int:
    return len(picked.get("head", picked.get("all", ())))


def _left(values: Sequence[Json] | Sequence[Row], picked: dict[str, range | list[int]]) -> int:
    return len(values) - sum(map(len, picked.values()))
