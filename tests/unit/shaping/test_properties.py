"""Whatever a program returns or prints, what goes back fits, is valid, is the same every time, and leaves masks whole."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.model import Budget, Strategy
from gristmill.shaping.shape_report import shape_report
from gristmill.shaping.values.compact_json import encode_json_text
from tests.unit.shaping.parts import Kept, costs, lost, report

SHORTENING: tuple[Strategy, ...] = ("summarize", "head_tail", "sample", "schema_only")
MASK = "<EMAIL_k3f9a2>"
HALF_A_MASK = re.compile(r"<E|MAIL|_k3f|a2>")

texts = st.text(max_size=40) | st.sampled_from(["x" * 3_000, "漢字" * 900, f"mail {MASK} " * 150, "0123456789abcdef" * 80])
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
records = st.fixed_dictionaries({"id": st.integers(), "name": texts}, optional={"tags": st.lists(texts, max_size=3)})


def repeated(items: st.SearchStrategy[list[Any]], most: int = 300) -> st.SearchStrategy[list[Any]]:
    """Long lists out of short ones, so that many examples are over their budget."""

    def times(few: list[Any], number: int) -> list[Any]:
        return few * number

    return st.builds(times, items, st.sampled_from([1, 7, most]))


def wide(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    def keyed(value: Any, number: int) -> dict[str, Any]:
        return {f"key {index}": value for index in range(number)}

    return st.builds(keyed, inner, st.sampled_from([3, 300]))


def deeper(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return repeated(st.lists(inner, max_size=4), 9) | st.dictionaries(texts, inner, max_size=5)


nested = st.recursive(scalars, deeper, max_leaves=5)
tables = repeated(st.lists(records, max_size=4))
values = nested | tables | wide(records | scalars) | st.fixed_dictionaries({"rows": tables, "about": nested})
lines = st.lists(
    st.text(max_size=60)
    | st.sampled_from(
        ["ERROR: timeout for 17", "ok", '[{"id": 1},', "Traceback (most recent call last):", '  File "a.py", line 3']
    )
    | nested.map(json.dumps),
    max_size=12,
)
outputs = repeated(lines, 60).map("\n".join)
budgets = st.builds(Budget, output_tokens=st.integers(100, 700), result_tokens=st.integers(100, 2_500))
strategies = st.sampled_from(SHORTENING)


@settings(max_examples=60, deadline=None)
@given(result=values, output=outputs, budget=budgets, strategy=strategies, keeps=st.booleans())
def test_what_goes_back_is_never_over_its_budget_and_always_json(
    result: Any, output: str, budget: Budget, strategy: Strategy, keeps: bool
) -> None:
    shaped = shape_report(
        report(result=result, output=output, error=output or None),
        budget=budget,
        strategy=strategy,
        spill=Kept() if keeps else lost,
        error_tokens=200,
    )
    found = costs(shaped)
    assert found["output"] <= budget.output_tokens
    assert found["result"] <= budget.result_tokens
    assert found["error"] <= 200
    assert json.loads(encode_json_text(shaped.result)) == json.loads(json.dumps(shaped.result, allow_nan=False))


@settings(max_examples=20, deadline=None)
@given(result=values, output=outputs, budget=budgets, strategy=strategies)
def test_the_same_report_is_shaped_the_same_way(result: Any, output: str, budget: Budget, strategy: Strategy) -> None:
    first, second = (
        shape_report(report(result=result, output=output), budget=budget, strategy=strategy, spill=Kept()) for _ in range(2)
    )
    assert first == second


@settings(max_examples=20, deadline=None)
@given(result=values, output=outputs, budget=budgets, strategy=strategies)
def test_what_was_left_out_is_kept_whole(result: Any, output: str, budget: Budget, strategy: Strategy) -> None:
    kept = Kept()
    shaped = shape_report(report(result=result, output=output), budget=budget, strategy=strategy, spill=kept)
    parts = {left.part: kept.files[left.path or ""] for left in shaped.left_out}
    assert json.loads(parts["result"]) == result if "result" in parts else shaped.result == result
    assert parts["output"].decode() == output if "output" in parts else shaped.output == output
    assert shaped.truncated == bool(parts)


@settings(max_examples=20, deadline=None)
@given(result=values)
def test_what_is_small_is_not_touched(result: Any) -> None:
    shaped = shape_report(report(result=result), budget=Budget(result_tokens=10_000_000), spill=lost)
    assert shaped.result is result
    assert not shaped.truncated


@pytest.mark.parametrize("strategy", SHORTENING)
@settings(max_examples=20, deadline=None)
@given(before=st.integers(0, 60), number=st.integers(1, 400), tokens=st.integers(100, 600), gap=st.sampled_from(["", " ", "\n"]))
def test_a_mask_is_never_cut(strategy: Strategy, before: int, number: int, tokens: int, gap: str) -> None:
    text = "-" * before + f"{MASK}{gap}" * number
    budget = Budget(output_tokens=tokens, result_tokens=tokens)
    value = {"text": text, "rows": [{"mail": text}] * 50, MASK: [text]}
    shaped = shape_report(
        report(output=text, result=value, error=text), budget=budget, strategy=strategy, spill=lost, error_tokens=tokens
    )
    for shown in (shaped.output, encode_json_text(shaped.result), shaped.error or ""):
        assert not HALF_A_MASK.search(shown.replace(MASK, ""))
