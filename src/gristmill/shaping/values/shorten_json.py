"""Shortens a JSON value to a given detail: still JSON, with long lists, wide objects, deep nests and long texts shown in part."""

import math
from collections.abc import Mapping
from functools import partial
from itertools import islice
from typing import cast

from gristmill.model import Json
from gristmill.shaping.detail_ladder import DetailStep
from gristmill.shaping.shape_draft import Path, ShapeDraft
from gristmill.shaping.text.fold_text import fold_text
from gristmill.shaping.values.describe_value import describe_value, name_kind
from gristmill.shaping.values.find_tables import KEY_COLUMN, RowTable, find_object_table, find_table
from gristmill.shaping.values.shorten_lists import ShapeItem, ShownItems, show_list, show_table

MORE_KEY = "..."
"""The key that says how many keys of an object are not shown."""
MAX_KEY_CHARACTERS = 80
"""Characters of a key that are shown."""


def shrink_value(value: Json, detail: DetailStep, draft: ShapeDraft, path: Path = ()) -> Json:
    """Returns ``value`` at this detail."""
    if isinstance(value, str):
        return _shrink_text(value, detail, draft, path)
    if isinstance(value, dict | list):
        if not value or (_is_tiny(value) and draft.strategy != "schema_only"):  # pyright: ignore[reportUnknownArgumentType]
            return cast("Json", value)
        if detail.depth <= 0:
            draft.record_left_out(path, "whole", start=0, left=len(value))  # pyright: ignore[reportUnknownArgumentType]
            return describe_value(value)
        if isinstance(value, list):
            return _shrink_list(cast("list[Json]", value), detail, draft, path)
        return _shrink_object(cast("Mapping[str, Json]", value), detail, draft, path)
    if draft.strategy == "schema_only":
        return name_kind(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _shrink_text(text: str, detail: DetailStep, draft: ShapeDraft, path: Path) -> str:
    if draft.strategy == "schema_only":
        draft.record_left_out(path, "text", start=0, left=len(text))
        return "string" if len(text) < 100 else f"string of {len(text):,} characters"
    if len(text) > detail.text:
        draft.record_left_out(path, "text", start=detail.text * 2 // 3, left=len(text) - detail.text)
    return fold_text(text, detail.text)


def _shrink_list(values: list[Json], detail: DetailStep, draft: ShapeDraft, path: Path) -> Json:
    inner = detail.inner_step()
    is_whole = len(values) <= detail.rows and draft.strategy != "schema_only"
    if is_whole:
        return [shrink_value(item, inner, draft, (*path, place)) for place, item in enumerate(values)]
    table = draft.find_table_once(values, partial(find_table, values))

    def shrink_item(value: Json, place: Path) -> Json:
        return shrink_value(value, inner, draft, (*path, *place))

    if table:
        shown = show_table(table, detail, draft.strategy, shrink_item)
    else:
        shown = show_list(values, detail, draft.strategy, shrink_item)
    return _record_left_out(shown, draft, path, is_pairs=False)


def _shrink_object(value: Mapping[str, Json], detail: DetailStep, draft: ShapeDraft, path: Path) -> Json:
    inner = detail.inner_step()
    if len(value) > detail.keys or draft.strategy == "schema_only":
        table = draft.find_table_once(value, partial(find_object_table, value))
        if table:
            return _record_left_out(
                show_table(table, detail, draft.strategy, _make_cell_shaper(table, inner, draft, path)),
                draft,
                path,
                is_pairs=True,
            )
    shown: dict[str, Json] = {}
    for key, item in islice(value.items(), detail.keys):
        name = fold_text(key, MAX_KEY_CHARACTERS)
        shown[name if name not in shown else f"{name} ({len(shown)})"] = shrink_value(item, inner, draft, (*path, key))
    left = len(value) - detail.keys
    if left > 0:
        draft.record_left_out(path, "pairs", start=detail.keys, left=left)
        shown[MORE_KEY if MORE_KEY not in shown else f"{MORE_KEY} ({len(shown)})"] = f"{left:,} more keys"
    return shown


def _make_cell_shaper(table: RowTable, inner: DetailStep, draft: ShapeDraft, path: Path) -> ShapeItem:
    """Returns a function that shapes a cell of a table whose rows are the values of an object: its path uses the key."""

    def shrink_cell(cell: Json, place: Path) -> Json:
        key = table.rows[cast("int", place[0])][KEY_COLUMN]
        return shrink_value(cell, inner, draft, path if place[1] == KEY_COLUMN else (*path, key, place[1]))

    return shrink_cell


def _record_left_out(shown: ShownItems, draft: ShapeDraft, path: Path, *, is_pairs: bool) -> Json:
    draft.record_left_out(path, "pairs" if is_pairs else "items", start=shown.start, left=shown.left)
    return shown.value


def _is_tiny(value: dict[str, Json] | list[Json]) -> bool:
    """Returns whether ``value`` is so small that describing it would be longer than showing it."""
    if len(value) > 3:
        return False
    parts = [*value, *value.values()] if isinstance(value, dict) else value
    return all(not isinstance(part, dict | list) and len(str(part)) <= 12 for part in parts)
