"""A JSON value in a given detail: still JSON, with long lists, wide objects, deep nests and long texts shown in part."""

import math
from collections.abc import Mapping
from functools import partial
from itertools import islice
from typing import cast

from gristmill.model import Json
from gristmill.shaping.detail_ladder import Detail
from gristmill.shaping.shape_draft import Draft, Path
from gristmill.shaping.text.fold_text import fold
from gristmill.shaping.values.describe_value import describe, kind
from gristmill.shaping.values.find_tables import KEY, Table, table_of, table_of_object
from gristmill.shaping.values.shorten_lists import Inner, Shown, show_list, show_table

MORE = "..."
"""The key that says how many keys of an object are not shown."""
NAME = 80
"""Characters of a key that are shown."""


def shrink(value: Json, detail: Detail, draft: Draft, path: Path = ()) -> Json:
    """``value`` in this detail."""
    if isinstance(value, str):
        return _text(value, detail, draft, path)
    if isinstance(value, dict | list):
        if not value or (_is_tiny(value) and draft.strategy != "schema_only"):  # pyright: ignore[reportUnknownArgumentType]
            return cast("Json", value)
        if detail.depth <= 0:
            draft.left_out(path, "whole", start=0, left=len(value))  # pyright: ignore[reportUnknownArgumentType]
            return describe(value)
        if isinstance(value, list):
            return _list(cast("list[Json]", value), detail, draft, path)
        return _object(cast("Mapping[str, Json]", value), detail, draft, path)
    if draft.strategy == "schema_only":
        return kind(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _text(text: str, detail: Detail, draft: Draft, path: Path) -> str:
    if draft.strategy == "schema_only":
        draft.left_out(path, "text", start=0, left=len(text))
        return "string" if len(text) < 100 else f"string of {len(text):,} characters"
    if len(text) > detail.text:
        draft.left_out(path, "text", start=detail.text * 2 // 3, left=len(text) - detail.text)
    return fold(text, detail.text)


def _list(values: list[Json], detail: Detail, draft: Draft, path: Path) -> Json:
    inner = detail.inner()
    is_whole = len(values) <= detail.rows and draft.strategy != "schema_only"
    if is_whole:
        return [shrink(item, inner, draft, (*path, place)) for place, item in enumerate(values)]
    table = draft.table(values, partial(table_of, values))

    def item(value: Json, place: Path) -> Json:
        return shrink(value, inner, draft, (*path, *place))

    shown = show_table(table, detail, draft.strategy, item) if table else show_list(values, detail, draft.strategy, item)
    return _noted(shown, draft, path, is_pairs=False)


def _object(value: Mapping[str, Json], detail: Detail, draft: Draft, path: Path) -> Json:
    inner = detail.inner()
    if len(value) > detail.keys or draft.strategy == "schema_only":
        table = draft.table(value, partial(table_of_object, value))
        if table:
            return _noted(show_table(table, detail, draft.strategy, _cell(table, inner, draft, path)), draft, path, is_pairs=True)
    shown: dict[str, Json] = {}
    for key, item in islice(value.items(), detail.keys):
        name = fold(key, NAME)
        shown[name if name not in shown else f"{name} ({len(shown)})"] = shrink(item, inner, draft, (*path, key))
    left = len(value) - detail.keys
    if left > 0:
        draft.left_out(path, "pairs", start=detail.keys, left=left)
        shown[MORE if MORE not in shown else f"{MORE} ({len(shown)})"] = f"{left:,} more keys"
    return shown


def _cell(table: Table, inner: Detail, draft: Draft, path: Path) -> Inner:
    """Shapes a cell of a table whose rows are the values of an object: its path goes by the key."""

    def shrunk(cell: Json, place: Path) -> Json:
        key = table.rows[cast("int", place[0])][KEY]
        return shrink(cell, inner, draft, path if place[1] == KEY else (*path, key, place[1]))

    return shrunk


def _noted(shown: Shown, draft: Draft, path: Path, *, is_pairs: bool) -> Json:
    draft.left_out(path, "pairs" if is_pairs else "items", start=shown.start, left=shown.left)
    return shown.value


def _is_tiny(value: dict[str, Json] | list[Json]) -> bool:
    """So small that saying what it is would be longer than showing it."""
    if len(value) > 3:
        return False
    parts = [*value, *value.values()] if isinstance(value, dict) else value
    return all(not isinstance(part, dict | list) and len(str(part)) <= 12 for part in parts)
