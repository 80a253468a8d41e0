"""Runs that outlive a request belong to their caller and are limited in number and in time."""

import gc
import weakref

import anyio
import pytest
from mcp_types import ElicitRequestFormParams, ElicitResult

from gristmill.errors import LimitExceeded, NotFound
from gristmill.model import Outcome
from gristmill.serve.mcp.run import Run
from gristmill.serve.mcp.runs import KEPT_SECONDS, MOST_FINISHED, MOST_OF_CALLER, Runs
from gristmill.serve.mcp.who import Who
from tests.unit.serve.mcp.tools.test_outcome_result import OK

pytestmark = pytest.mark.anyio

ANN = Who("ann")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def _done(_run: Run) -> Outcome:
    return OK


async def _never(_run: Run) -> Outcome:
    await anyio.sleep_forever()
    return OK


async def test_a_finished_run_can_be_asked_for_again_until_it_is_forgotten() -> None:
    clock = [0.0]
    runs = Runs(lambda: clock[0])
    runs.start(Run(id="a", who=ANN), _done)

    assert await runs.get("a", ANN).attend() == OK
    clock[0] = KEPT_SECONDS + 1
    with pytest.raises(NotFound):
        runs.get("a", ANN)


@pytest.mark.requirement("T46")
async def test_a_run_is_not_there_for_another_caller() -> None:
    runs = Runs()
    runs.start(Run(id="a", who=ANN), _done)

    for stranger in (Who("bob"), Who("ann", tenant="another")):
        with pytest.raises(NotFound):
            runs.get("a", stranger)
    await runs.close()


async def test_what_one_tenant_has_done_does_not_push_out_what_another_has_not_fetched() -> None:
    runs, eve = Runs(), Who("eve", tenant="another")
    runs.start(Run(id="a", who=ANN), _done)
    for number in range(MOST_FINISHED + 1):
        run = Run(id=str(number), who=eve)
        runs.start(run, _done)
        await run.task
        await anyio.lowlevel.checkpoint()

    assert await runs.get("a", ANN).attend() == OK
    assert [run.id for run in runs.of(eve)] == [str(number) for number in range(MOST_FINISHED, 0, -1)]


async def test_a_run_that_failed_keeps_nothing_of_what_was_asked_for() -> None:
    class Asked:
        """Something large."""

    seen: list[weakref.ref[Asked]] = []

    async def fails(_run: Run) -> Outcome:
        asked = Asked()
        seen.append(weakref.ref(asked))
        raise NotFound("nothing is kept of it")

    runs, run = Runs(), Run(id="a", who=ANN)
    runs.start(run, fails)
    while run.finished is None:
        await anyio.lowlevel.checkpoint()
    gc.collect()

    assert seen[0]() is None
    with pytest.raises(NotFound):
        await runs.get("a", ANN).attend()


async def test_waiting_for_a_run_is_bounded_and_does_not_end_it() -> None:
    runs = Runs()
    run = Run(id="a", who=ANN)
    runs.start(run, _never)

    assert await run.attend(0.01) == ()
    assert not run.task.done()
    await runs.close()
    assert run.task.cancelled()


async def test_a_caller_cannot_have_too_many_at_once_and_others_still_can() -> None:
    runs = Runs()
    for number in range(MOST_OF_CALLER):
        runs.start(Run(id=str(number), who=ANN), _never)

    with pytest.raises(LimitExceeded):
        runs.start(Run(id="more", who=ANN), _never)
    runs.start(Run(id="bob's", who=Who("bob")), _done)
    await runs.close()


async def test_a_question_reaches_whoever_attends_and_the_answer_goes_back() -> None:
    async def asks(run: Run) -> Outcome:
        answer = await run.ask(ElicitRequestFormParams(message="?", requested_schema={}))
        assert answer.action == "accept"
        return OK

    runs = Runs()
    run = Run(id="a", who=ANN)
    runs.start(run, asks)
    with anyio.fail_after(5):
        found = await run.attend()
        assert isinstance(found, tuple)
        run.answer({found[0].key: {"action": "accept"}, "nobody's": 5})
        assert await run.attend() == OK


async def test_questions_of_calls_that_run_at_the_same_time_are_open_together_and_answered_one_by_one() -> None:
    said: list[str] = []

    async def asking(run: Run) -> Outcome:
        async def one(number: int) -> None:
            answer = await run.ask(ElicitRequestFormParams(message=str(number), requested_schema={}))
            said.append(f"{number}: {answer.action}")

        async with anyio.create_task_group() as tasks:
            for number in range(3):
                tasks.start_soon(one, number)
        return OK

    runs = Runs()
    run = Run(id="a", who=ANN)
    runs.start(run, asking)
    with anyio.fail_after(5):
        while len(asked := await run.look()) < 3:
            pass
        run.answer({asked[1].key: ElicitResult(action="accept")})
        assert await run.look() == (asked[0], asked[2])
        run.answer({asked[0].key: {"wrong": "kind"}, asked[1].key: {"action": "decline"}})
        run.answer({asked[2].key: {"action": "decline"}})
        assert await run.attend() == OK

    assert sorted(said) == ["0: cancel", "1: accept", "2: decline"]


async def test_a_run_whose_question_nobody_answers_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    async def asks(run: Run) -> Outcome:
        await run.ask(ElicitRequestFormParams(message="?", requested_schema={}))
        return OK

    monkeypatch.setattr("gristmill.serve.mcp.run.PARKED_SECONDS", 0.0)
    run = Run(id="a", who=ANN)
    Runs().start(run, asks)
    with anyio.fail_after(5):
        await run.look()
        run.park()
        await anyio.wait_all_tasks_blocked()
        while not run.task.done():
            await anyio.lowlevel.checkpoint()

    assert run.task.cancelled()
