"""The story of one execution, told with fakes."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gristmill.config.tree import Config, StoreConfig
from gristmill.model import Outcome, Report, Usage
from gristmill.testing import FakePool, fake_runtime


def find() -> str:
    """Find."""
    return "found"


def run(code: str, pool: FakePool, tmp_path: Path, **more: Any) -> Outcome:
    async def work() -> Outcome:
        async with fake_runtime(Config(store=StoreConfig(path=tmp_path)), pool, tools={"crm.find": find}) as runtime:
            return await runtime.execute(code, execution_id="x", **more)

    return asyncio.run(work())


def test_a_report_becomes_an_outcome(tmp_path: Path) -> None:
    report = Report(
        status="ok", output="hi", result=1, usage=Usage(seconds=0.0015, memory_mb=2.5, calls=1), tools_called=("crm.find",)
    )
    outcome = run("1", FakePool(lambda _: report), tmp_path)
    assert outcome == Outcome(
        id="x", status="ok", success=True, output="hi", result=1, error=None, error_type=None, limit=None, execution_time_ms=1.5,
        memory_mb=2.5, tools_called=("crm.find",), isolation="namespaces", truncated=False, state="fresh", session=None,
    )  # fmt: skip


@pytest.mark.requirement("T72")
def test_an_outcome_has_a_form_of_its_text_that_steers_no_terminal(tmp_path: Path) -> None:
    printed, raised = "a\x1b[31m\tb\n\u202ec", "E: \x9b2J\U000e0041"
    outcome = run("1", FakePool(lambda _: Report(status="failed", output=printed, error=raised)), tmp_path)
    assert (outcome.output, outcome.error) == (printed, raised)
    assert (outcome.text, outcome.error_text) == ("a\\x1b[31m\tb\n\\u202ec", "E: \\x9b2J\\ue0041")
    assert run("1", FakePool(lambda _: Report(status="ok", output="plain")), tmp_path).error_text is None


def test_refused_code_never_reaches_a_sandbox(tmp_path: Path) -> None:
    pool = FakePool()
    outcome = run("", pool, tmp_path, session="ann")
    assert (outcome.status, outcome.success, outcome.error_type, pool.opened) == ("refused", False, "refused.code", [])


def test_a_session_keeps_its_sandbox_and_gets_its_folder(tmp_path: Path) -> None:
    pool = FakePool()
    run("1", pool, tmp_path, session="ann")
    assert [job.session for job in pool.opened[0].jobs] == ["ann"]
    assert [path.name.partition("-")[0] for path in (tmp_path / "workspaces").iterdir() if path.is_dir()] == ["ann"]


def test_a_bad_session_name_is_refused(tmp_path: Path) -> None:
    assert run("1", FakePool(), tmp_path, session="a\nb").status == "refused"
