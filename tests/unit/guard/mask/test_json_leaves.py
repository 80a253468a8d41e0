"""Values taken apart and put together again."""

import math
from typing import cast
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from gristmill.guard.mask import json_leaves as leaves_module
from gristmill.guard.mask.json_leaves import JsonLeaves, LeafSwaps, collect_scalars
from gristmill.model import Json

SCALARS = st.one_of(st.sampled_from(["a", "b", "c", "x", "", "phone"]), st.integers(0, 3), st.integers(10**11, 10**11 + 3), st.sampled_from([0.5, 3.0, 1e11, 1e11 + 1, math.inf]), st.none(), st.booleans())  # fmt: skip
VALUES = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.sampled_from("abcp"), inner)), max_leaves=20
)
TEXTS = {"a": "A", "b": "B"}
NUMBERS: dict[int | float, Json] = {10**11: "card"}


def swap(leaf: Json) -> Json:
    return "field" if leaf in ("x", "a", 3) else leaf


def plain(value: Json, *, in_field: bool = False) -> Json:
    """The same by recursion."""
    if type(value) is dict:
        fields = cast("dict[str, Json]", value)
        return {TEXTS.get(name, name): plain(leaf, in_field=name == "p") for name, leaf in fields.items()}
    if type(value) is list:
        return [plain(leaf, in_field=in_field) for leaf in cast("list[Json]", value)]
    if in_field and type(value) in (str, int, float) and swap(value) is not value:
        return swap(value)
    return TEXTS.get(value, value) if type(value) is str else NUMBERS.get(value, value) if type(value) in (int, float) else value


@given(VALUES)
def test_a_value_is_rebuilt_with_all_that_is_swapped(value: Json) -> None:
    assert JsonLeaves(value).rebuild_value(LeafSwaps(texts=TEXTS, numbers=NUMBERS, fields={"p": swap})) == plain(value)


def _inner(x: Json, p: Json) -> Json:
    return {"x": x, "p": p}


ROW = st.one_of(
    st.just(st.fixed_dictionaries({"a": SCALARS, "p": st.sampled_from(["a", "x", "q"]), "c": VALUES})),
    st.just(st.fixed_dictionaries({"p": st.lists(SCALARS), "b": st.builds(_inner, SCALARS, SCALARS)})),
    st.just(
        st.fixed_dictionaries(
            {"x": st.sampled_from([0, 7, 10**11, 10**11 + 2, 0.5, 1e11, None]), "y": st.sampled_from(["a", "b", "z"])}
        )
    ),
    st.just(st.lists(SCALARS, max_size=3)),
)
ROWS: st.SearchStrategy[Json] = ROW.flatmap(lambda row: st.lists(row, max_size=12)) | st.lists(
    ROW.flatmap(lambda row: row), max_size=12
)


@given(ROWS)
def test_rows_of_tables_are_rebuilt_as_one_by_one(rows: Json) -> None:
    value = {"rows": rows, "a": [[rows], rows]}
    with patch.object(leaves_module, "ROWS", 2):
        leaves = JsonLeaves(value)
    assert leaves.rebuild_value(LeafSwaps(texts=TEXTS, numbers=NUMBERS, fields={"p": swap})) == plain(value)
    assert leaves.value == value


@given(VALUES, ROWS)
def test_every_string_and_name_and_long_number_is_a_leaf(value: Json, rows: Json) -> None:
    with patch.object(leaves_module, "ROWS", 2):
        leaves = JsonLeaves([value, rows])
    all_leaves = collect_scalars([value, rows], names=True)
    assert set(leaves.strings) == {leaf for leaf in all_leaves if type(leaf) is str}
    assert leaves.numbers == {leaf for leaf in all_leaves if type(leaf) in (int, float) and leaf >= 10**11}


def test_a_copy_shares_nothing_that_can_change() -> None:
    value: dict[str, Json] = {"a": [{"b": [0]}]}
    copy = JsonLeaves(value).rebuild_value(LeafSwaps(texts={}))
    copy["a"][0]["b"].append(1)
    assert value == {"a": [{"b": [0]}]}


def test_copies_of_rows_share_nothing_that_can_change() -> None:
    rows: list[Json] = [{"a": [number], "b": {}} for number in range(40)]
    copy = JsonLeaves(rows).rebuild_value(LeafSwaps(texts={}))
    for row in copy:
        row["a"].append(1)
        row["b"]["c"] = 1
    assert rows == [{"a": [number], "b": {}} for number in range(40)]


def test_the_name_of_a_field_counts_in_lists_of_lists_before_what_was_found_in_the_value() -> None:
    assert JsonLeaves({"p": [["a", "b"]]}).rebuild_value(LeafSwaps(texts=TEXTS, fields={"p": swap})) == {"p": [["field", "B"]]}


def test_a_column_that_was_swapped_whole_is_not_looked_at_for_its_name() -> None:
    asked: list[Json] = []
    swaps = LeafSwaps(texts=TEXTS, fields={"p": lambda leaf: asked.append(leaf) or leaf}, whole=frozenset("A"))
    whole: list[Json] = [{"p": "a"} for _ in range(40)]
    assert JsonLeaves(whole).rebuild_value(swaps) == [{"p": "A"} for _ in range(40)]
    assert not asked
    others: tuple[Json, ...] = ("b", "x", 3, None)  # swapped, but not whole; not swapped; no string
    for other in others:
        JsonLeaves([*whole, {"p": other}]).rebuild_value(swaps)
        assert asked.count(other) == (other is not None), other
        assert asked.count("a") == len(whole), other
        asked.clear()


def test_how_deep_a_value_is_does_not_matter() -> None:
    value: Json = "a"
    for _ in range(100_000):
        value = [value]
    copy = JsonLeaves(value).rebuild_value(LeafSwaps(texts=TEXTS))
    for _ in range(100_000):
        copy = copy[0]
    assert copy == "A"
