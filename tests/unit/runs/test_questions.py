"""Questions of a run reach the client that waits for it, and a run whose question is not answered ends."""

from collections.abc import Awaitable, Callable

import anyio
import pytest
from mcp_types import ElicitRequestFormParams, ElicitResult

from gristmill.config.sections.serve_section import ServeConfig
from gristmill.model import Identity, Outcome
from gristmill.runs.active_run import ActiveRun
from gristmill.runs.served_runs import build_runs
from gristmill.runs.start_run import start_run
from gristmill.serve.mcp.questions.take_answers import take_answers
from tests.unit.serve.mcp.tools.test_outcome_result import OK

pytestmark = pytest.mark.anyio

Work = Callable[[ActiveRun], Awaitable[Outcome]]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def start(work: Work) -> ActiveRun:
    """A run of ``work`` that has been started, without a runtime."""
    run = ActiveRun(identity=Identity(caller="ann"))
    start_run(build_runs(None, ServeConfig(), places=1), run, lambda: work(run))  # pyright: ignore[reportArgumentType]
    return run


async def test_a_question_reaches_the_client_that_waits_and_the_answer_goes_back() -> None:
    async def asks(run: ActiveRun) -> Outcome:
        answer = await run.ask(ElicitRequestFormParams(message="?", requested_schema={}))
        assert answer.action == "accept"
        return OK

    run = start(asks)
    with anyio.fail_after(5):
        (asked,) = await run.wait_for_questions()
        take_answers(run, {asked.key: {"action": "accept"}, "another": 5})
        assert await run.wait_for_questions() == ()
    assert run.outcome == OK


async def test_questions_of_calls_that_run_at_the_same_time_are_open_together_and_answered_one_by_one() -> None:
    said: list[str] = []

    async def asking(run: ActiveRun) -> Outcome:
        async def one(number: int) -> None:
            answer = await run.ask(ElicitRequestFormParams(message=str(number), requested_schema={}))
            said.append(f"{number}: {answer.action}")

        async with anyio.create_task_group() as tasks:
            for number in range(3):
                tasks.start_soon(one, number)
        return OK

    run = start(asking)
    with anyio.fail_after(5):
        while len(asked := await run.wait_for_questions()) < 3:
            pass
        take_answers(run, {asked[1].key: ElicitResult(action="accept")})
        assert await run.wait_for_questions() == (asked[0], asked[2])
        take_answers(run, {asked[0].key: {"wrong": "kind"}, asked[1].key: {"action": "decline"}})
        take_answers(run, {asked[2].key: {"action": "decline"}})
        assert await run.wait_for_questions() == ()

    assert run.outcome == OK
    assert sorted(said) == ["0: cancel", "1: accept", "2: decline"]


async def test_a_run_whose_question_is_not_answered_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    async def asks(run: ActiveRun) -> Outcome:
        await run.ask(ElicitRequestFormParams(message="?", requested_schema={}))
        return OK

    monkeypatch.setattr("gristmill.runs.questions.PARKED_SECONDS", 0.0)
    run = start(asks)
    with anyio.fail_after(5):
        await run.wait_for_questions()
        run.start_answer_timer()
        while run.ended is None:
            await anyio.lowlevel.checkpoint()

    assert (run.status, run.is_cancelled) == ("cancelled", True)
    run.cancel()  # once more does nothing


async def test_waiting_for_a_run_is_bounded_and_does_not_end_it() -> None:
    async def never(_run: ActiveRun) -> Outcome:
        await anyio.sleep_forever()
        return OK

    run = start(never)
    assert await run.wait_for_questions(0.01) == ()
    assert run.ended is None
    await run.end()
    assert run.is_cancelled
