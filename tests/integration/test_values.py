"""Results: any value becomes JSON that a person would expect, and none breaks the channel."""

import pytest

from gristmill import BlockingRuntime

VALUES = {
    "tuple": ("(1, 2)", [1, 2]),
    "set": ("{3, 1, 2}", [1, 2, 3]),
    "datetime": ("import datetime\ndatetime.datetime(2026, 1, 2, 3, 4)", "2026-01-02T03:04:00"),
    "date": ("import datetime\ndatetime.date(2026, 1, 2)", "2026-01-02"),
    "timedelta": ("import datetime\ndatetime.timedelta(hours=2)", "2:00:00"),
    "decimal": ("import decimal\ndecimal.Decimal('1.10')", "1.10"),
    "nan": ("[float('nan'), float('inf'), -float('inf')]", [None, "Infinity", "-Infinity"]),
    "64 bits": ("2 ** 63", 2**63),
    "more than 64 bits": ("2 ** 70", str(2**70)),
    "a million bits": ("1 << 1_000_000", "<integer of 1,000,001 bits>"),
    "cycle": ("x = [1]\nx.append(x)\nx", [1, "<list, contains itself>"]),
    "keys that are not text": ("{1: 'a', (1, 2): 'b', None: 'c'}", {"1": "a", "1, 2": "b", "None": "c"}),
    "enum": ("import enum\nclass Color(enum.Enum):\n    RED = 'red'\n[Color.RED]", ["red"]),
    "namedtuple": ("import collections\ncollections.namedtuple('P', 'x y')(1, 2)", {"x": 1, "y": 2}),
    "bytes": ("[b'text', b'\\xff']", ["text", "base64:/w=="]),
    "range": ("range(3)", [0, 1, 2]),
    "dict views": ("list({'a': 1}.items()), {'b': 2}.keys()", [[["a", 1]], ["b"]]),
    "exception": ("ValueError('bad')", "ValueError: bad"),
    "uuid": ("import uuid\nuuid.UUID(int=5)", "00000000-0000-0000-0000-000000000005"),
    "path": ("import pathlib\npathlib.Path('a/b')", "a/b"),
    "hostile repr": ("class H:\n    def __repr__(self):\n        raise ValueError\n[H()]", ["<H, cannot be shown: ValueError>"]),
    "hostile str": ("class H(Exception):\n    def __str__(self):\n        1 / 0\nH()", "<H, cannot be shown: ZeroDivisionError>"),
    "empty": ("''", ""),
    "false": ("False", False),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_comes_back_as_a_person_expects(runtime: BlockingRuntime, name: str) -> None:
    code, expected = VALUES[name]
    outcome = runtime.execute(code)
    assert (outcome.error, outcome.result) == (None, expected)


def test_a_lone_surrogate_is_an_error_that_says_where(runtime: BlockingRuntime) -> None:
    outcome = runtime.execute("'a\\ud800b'")
    assert outcome.error_type == "ValueError"
    assert "a lone surrogate (U+D800) at position 1" in str(outcome.error)


def test_deep_nesting_is_cut_and_said(runtime: BlockingRuntime) -> None:
    outcome = runtime.execute("x = []\nfor _ in range(100_000):\n    x = [x]\nx")
    assert outcome.status == "ok"
    assert "nested too deep" in str(outcome.result)


def test_a_huge_result_meets_its_limit_and_not_the_hosts_memory(runtime: BlockingRuntime) -> None:
    outcome = runtime.execute("'x' * 50_000_000")
    assert (outcome.status, outcome.limit, outcome.result) == ("limited", "result_bytes", None)
    assert "50,000,002 bytes" in (outcome.error or "")


def test_ten_thousand_rows_are_filtered_inside(runtime: BlockingRuntime) -> None:
    outcome = runtime.execute("from servers import crm\nrows = crm.rows(10_000)\nlen([r for r in rows if r['value'] > 500])")
    assert outcome.result == len([n for n in range(10_000) if n * 37 % 1000 > 500])
