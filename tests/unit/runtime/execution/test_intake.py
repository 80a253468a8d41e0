"""How an execution is taken in: new, or the continuation of another."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from gristmill.config.tree import Config
from gristmill.errors import NotFound, Refused
from gristmill.model import Decision, Execution, Report, ToolCall
from gristmill.runtime.execution.execution_state import ExecutionState
from gristmill.runtime.execution.intake import STOPPED_CHARACTERS, Intake
from gristmill.testing import fake_runtime

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncGenerator[Intake]:
    async with fake_runtime(Config.model_validate({"store": {"path": tmp_path}})) as runtime:
        yield runtime._rooms.intake  # pyright: ignore[reportPrivateUsage]


async def _waiting(desk: Intake, error: str = "") -> ExecutionState:
    run = await desk.begin_run(Execution(id="e", code="the code", session="s"))
    call = ToolCall(id=1, tool="t.u", arguments={"to": "ann@example.org"})
    run.plan_call(call, Decision(effect="ask", rule="r"), needs_approval=True, was_lost=False)
    await desk.ask_approval(run, Report(status="failed" if error else "ok", error=error or None))
    return run


async def test_a_new_execution_is_its_own_root(desk: Intake) -> None:
    run = await desk.begin_run(Execution(id="e", code="1"))
    assert (run.root, run.space, run.recorded, run.grants) == ("e", None, {}, ())


async def test_a_resumed_one_brings_its_code_session_and_decisions(desk: Intake) -> None:
    await _waiting(desk)
    (asked,) = await desk.approvals.list()
    await desk.approvals.decide(asked.id, "all", by="boss")
    run = await desk.begin_run(Execution(id="f", code="", resume="e"))
    assert (run.root, run.execution.code, run.execution.session, len(run.grants)) == ("e", "the code", "s", 1)
    edited = await desk.begin_run(Execution(id="g", code="other code", resume="e"))
    assert (edited.root, edited.execution.code) == ("e", "other code")


async def test_what_belongs_to_another_session_cannot_be_resumed_in_this_one(desk: Intake) -> None:
    await _waiting(desk)
    with pytest.raises(Refused) as refused:
        await desk.begin_run(Execution(id="f", code="", resume="e", session="other"))
    assert refused.value.rule == "resume.owner"


async def test_nothing_kept_is_nothing_to_resume(desk: Intake) -> None:
    with pytest.raises(NotFound):
        await desk.begin_run(Execution(id="f", code="", resume="nothing"))


async def test_the_plan_says_why_it_ended_masked_and_in_one_line(desk: Intake) -> None:
    await _waiting(desk, f"Traceback ...\nValueError: ann@example.org {'x' * 2_000}\n")
    (asked,) = await desk.approvals.list()
    stopped = asked.plan.stopped or ""
    assert stopped.startswith("ValueError: <EMAIL_")
    assert len(stopped) == STOPPED_CHARACTERS
    assert "ann@" not in str(asked.plan.calls[0].arguments)
