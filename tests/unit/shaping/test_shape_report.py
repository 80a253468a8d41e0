"""What a model sees of results that do not fit."""

import errno
import json
from itertools import pairwise
from typing import Any

import pytest

from gristmill.errors import LimitExceeded
from gristmill.model import Budget, LeftOut
from gristmill.shaping import token_fit as measure
from gristmill.shaping.shape_report import shape_report, shape_small_report
from gristmill.shaping.token_fit import count_tokens
from gristmill.shaping.values.compact_json import encode_json_text
from tests.unit.shaping.parts import ROWS, Kept, costs, lost, report

SMALL = Budget(output_tokens=200, result_tokens=300)


def test_a_table_shows_columns_count_ends_and_the_range_of_numbers() -> None:
    shaped = shape_report(report(result=ROWS), budget=SMALL, spill=Kept())
    table = shaped.result["table"]
    assert table["rows"] == 10_000
    assert table["columns"] == {
        "id": "integer, 0 to 9999, mean 4999.5",
        "name": "string, all distinct",
        "country": "string, DE 6,666, FR 3,334",
        "total": "number, 0 to 14998.5, mean 7499.25",
    }
    assert table["head"][0] == [0, "customer 0", "FR", 0.0]
    assert table["tail"][-1] == [9_999, "customer 9999", "FR", 14_998.5]


def test_ten_thousand_rows_cost_less_than_a_hundredth_of_their_tokens() -> None:
    shaped = shape_report(report(result=ROWS), budget=Budget(), spill=Kept())
    assert costs(shaped)["result"] * 100 < count_tokens(encode_json_text(ROWS))


def test_the_line_that_looks_at_more_works_on_what_was_kept() -> None:
    kept = Kept()
    left = shape_report(report(result={"total": 3, "rows": ROWS}), budget=SMALL, spill=kept).left_out[0]
    assert left.path is not None
    assert (left.part, left.how.startswith(f'import json; json.load(open("{left.path}"))["rows"][')) == ("result", True)
    opened = left.how.replace(f'import json; json.load(open("{left.path}"))', "value")
    rows = eval(opened, {"value": json.loads(kept.files[left.path])})
    assert (len(rows), rows[0] in ROWS[:20]) == (20, True)


@pytest.mark.parametrize(
    "result",
    [
        {f"user {number}": {"age": number, "city": "Bonn"} for number in range(3_000)},
        {"a": {"b": {"c": [{"text": "x" * 50_000}] * 3}}},
        {f"k{number}": "v" * number for number in range(900)},
        ["a text " * 40 for _ in range(400)],
    ],
)
def test_every_line_that_looks_at_more_is_python_that_runs(result: Any) -> None:
    kept = Kept()
    left = shape_report(report(result=result), budget=SMALL, spill=kept).left_out[0]
    files = {path: content.decode() for path, content in kept.files.items()}

    first, _, line = left.how.partition("; ")
    assert first == "import json"

    class Loads:
        load = staticmethod(json.loads)

    assert eval(line, {"json": Loads, "open": files.__getitem__}) is not None


def test_schema_only_shows_no_value() -> None:
    shaped = shape_report(report(result={"rows": ROWS, "secret": "hunter2"}), budget=SMALL, strategy="schema_only", spill=Kept())
    columns = {"id": "integer", "name": "string", "country": "string", "total": "number"}
    assert shaped.result == {"rows": {"table": {"rows": 10_000, "columns": columns}}, "secret": "string"}


def test_a_sample_is_evenly_spaced_and_reaches_both_ends() -> None:
    shaped = shape_report(report(result=ROWS), budget=SMALL, strategy="sample", spill=Kept())
    ids = [row[0] for row in shaped.result["table"]["sample"]]
    steps = [after - before for before, after in pairwise(ids)]
    assert (ids[0], ids[-1], max(steps) - min(steps) <= 1) == (0, 9_999, True)


def test_full_sends_everything() -> None:
    everything = report(result=ROWS, output="x" * 100_000, error="y" * 100_000)
    shaped = shape_report(everything, budget=SMALL, strategy="full", spill=lost)
    assert (shaped.result, shaped.output, shaped.error, shaped.left_out) == (ROWS, "x" * 100_000, "y" * 100_000, ())


def test_without_a_session_the_rest_is_lost_and_said_to_be() -> None:
    left = shape_report(report(result=ROWS), budget=SMALL, spill=lost).left_out[0]
    assert left.path is None
    assert "lost" in left.how
    assert "return or print less" in left.how


@pytest.mark.parametrize(
    "failure",
    [OSError(errno.ENOSPC, "No space left on device"), LimitExceeded("the quota is full", limit="workspace_mb", value=1)],
)
def test_a_full_disk_loses_the_rest_but_not_the_answer(failure: Exception) -> None:
    def fails(_name: str, _content: bytes) -> str | None:
        raise failure

    shaped = shape_report(report(result=ROWS), budget=SMALL, spill=fails)
    assert shaped.result["table"]["rows"] == 10_000
    assert shaped.left_out[0].path is None
    assert costs(shaped)["result"] <= SMALL.result_tokens


def test_small_reports_need_no_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    def never() -> None:
        raise AssertionError("the tokenizer was loaded")

    monkeypatch.setattr(measure, "load_token_counter", never)
    small = report(result={"total": 3, "names": ["Ann", "Zoë"]}, output="done\n")
    assert shape_report(small, budget=Budget(), spill=lost).result is small.result


def test_a_large_report_is_not_for_the_event_loop() -> None:
    assert shape_small_report(report(result=ROWS), budget=Budget()) is None
    assert shape_small_report(report(output="漢" * 499), budget=Budget()) is None
    assert shape_small_report(report(result=ROWS[:3]), budget=Budget()) is not None


def test_without_a_tokenizer_the_count_is_cautious(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "load_token_counter", lambda: None)
    shaped = shape_report(report(result=ROWS), budget=SMALL, spill=Kept())
    monkeypatch.undo()
    assert costs(shaped)["result"] <= SMALL.result_tokens


def test_a_value_nested_too_deep_to_be_written_is_still_shown() -> None:
    value: Any = "the bottom"
    for _ in range(5_000):
        value = [value]
    shaped = shape_report(report(result=value), budget=SMALL, spill=Kept())
    assert json.loads(encode_json_text(shaped.result))
    assert shaped.left_out[0] == LeftOut(part="result", path=None, tokens=1, how=shaped.left_out[0].how)


def test_half_a_surrogate_pair_is_no_reason_to_fail() -> None:
    kept = Kept()
    shaped = shape_report(report(result=["\ud800" * 10] * 500), budget=SMALL, spill=kept)
    assert json.loads(next(iter(kept.files.values()))) == ["\ud800" * 10] * 500
    assert costs(shaped)["result"] <= SMALL.result_tokens
