"""Options of an execution that cannot be used are refused before anything runs."""

from pathlib import Path
from typing import Any

import pytest

from gristmill.errors import ConfigError
from gristmill.model import Budget, Report
from gristmill.runtime.execution.given_options import choose_budget
from gristmill.testing import FakePool
from tests.unit.runtime.execution.test_execute import run


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"budget": "500"}, "budget is '500'"),
        ({"budget": -1}, "from 0 to 1,000,000"),
        ({"budget": True}, "budget is True"),
        ({"budget": Budget(result_tokens="many")}, "budget is"),  # pyright: ignore[reportArgumentType]
        ({"strategy": "shorter"}, "no strategy 'shorter'; there are summarize"),
        ({"strategy": 5}, "strategy must be a text"),
        ({"session": 7}, "session must be a text, not int"),
        ({"resume": b"x"}, "resume must be a text, not bytes"),
        ({"limits": {"seconds": "soon"}}, "the limit seconds is 'soon'"),
        ({"limits": {"memory_mb": -5}}, "the limit memory_mb is '-5'"),
        ({"limits": {"second": 5}}, "unknown limit"),
    ],
)
def test_an_option_that_cannot_be_used_is_refused_and_nothing_runs(options: dict[str, Any], reason: str, tmp_path: Path) -> None:
    pool = FakePool(lambda _: Report(status="ok"))
    with pytest.raises(ConfigError, match=reason):
        run("1", pool, tmp_path, **options)
    assert pool.opened == []


def test_a_plain_number_is_the_budget_of_the_result(tmp_path: Path) -> None:
    assert choose_budget(500) == Budget(result_tokens=500)
    long = Report(status="ok", result=["word"] * 5_000)
    short, longer = (run("1", FakePool(lambda _: long), tmp_path, budget=budget) for budget in (100, 1_000))
    assert len(str(short.result)) < len(str(longer.result))


def test_code_that_is_no_text_is_refused(tmp_path: Path) -> None:
    pool = FakePool()
    with pytest.raises(ConfigError, match="code must be a text"):
        run(b"1", pool, tmp_path)  # pyright: ignore[reportArgumentType]
    assert pool.opened == []
