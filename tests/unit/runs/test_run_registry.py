"""What is told of a run while it is under way."""

import asyncio
import gc
import weakref
from typing import Any, cast

import pytest

from gristmill.config.sections.serve_section import Scope, ServeConfig
from gristmill.errors import Busy, NotFound
from gristmill.events import CallFinished, CallStarted, OutputWritten
from gristmill.model import Identity, Outcome
from gristmill.runs.active_run import LINE_CHARACTERS, ActiveRun, RunProblem
from gristmill.runs.finished_shelf import ShelfRules
from gristmill.runs.run_registry import RunRegistry, RunViewer
from gristmill.runs.served_runs import ServedRuns, build_runs
from gristmill.runs.start_run import Work, start_run
from gristmill.runtime.runtime import Runtime
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.run_viewer import build_viewer

ANN = Identity(caller="ann")
OUTCOME = Outcome(
    id="e", status="ok", success=True, output="", result=None, error=None, error_type=None, limit=None, execution_time_ms=0.0,
    memory_mb=0.0, tools_called=(), isolation="namespaces", truncated=False, state="fresh",
)  # fmt: skip


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def run() -> ActiveRun:
    return ActiveRun(id="e", identity=Identity(tenant="t", caller="c"), session=None, began=0.0)


def test_the_last_line_is_the_last_one_that_says_something() -> None:
    one = run()
    one.record_event(OutputWritten(execution="e", text="first\n  second  \n\n"))
    assert one.last_line == "second"
    one.record_event(OutputWritten(execution="e", text="\n \n"))
    assert one.last_line == "second"
    one.record_event(OutputWritten(execution="e", text="x" * 10_000))
    assert one.last_line == "x" * LINE_CHARACTERS


def test_calls_are_open_until_they_are_answered() -> None:
    one = run()
    for number, tool in ((1, "crm.find"), (2, "mail.send")):
        one.record_event(CallStarted(execution="e", call=number, tool=tool))
    one.record_event(CallFinished(execution="e", call=1, tool="crm.find", ok=False))
    assert list(one.open_calls.values()) == ["mail.send"]


def test_whoever_watches_hears_of_every_step() -> None:
    one, told = run(), list[int]()
    one.on_change = lambda: told.append(1)
    one.record_event(OutputWritten(execution="e", text="a"))
    one.record_event(CallStarted(execution="e", call=1, tool="crm.find"))
    assert told == [1, 1]


def test_a_run_that_has_ended_holds_no_task_and_no_events_to_wait_for() -> None:
    async def use() -> None:
        runs = RunRegistry(ShelfRules(seconds=10.0, most=10, bytes=1_000_000), background=1)
        one = ActiveRun(id="one", identity=Identity(tenant="t", caller="a"), session=None, began=0.0)
        one.task = asyncio.create_task(asyncio.sleep(0, OUTCOME))
        runs.admit(one)
        task = weakref.ref(one.task)
        await one.task
        runs.mark_ended(one)
        await asyncio.sleep(0)
        assert task() is None
        assert not [each for each in gc.get_referents(one.events, one.questions) if isinstance(each, asyncio.Event)]
        assert one.outcome == OUTCOME

    asyncio.run(use())


def test_what_last_ended_is_known_of_whoever_may_see_it_as_long_as_it_is_kept() -> None:
    now = [0.0]

    async def use() -> None:
        runs = RunRegistry(ShelfRules(seconds=10.0, most=10, bytes=1_000_000), background=1, clock=lambda: now[0])

        async def end(id_: str, caller: str) -> None:
            one = ActiveRun(id=id_, identity=Identity(tenant="t", caller=caller), session=None, began=0.0)
            one.task = asyncio.create_task(asyncio.sleep(0, OUTCOME))
            runs.admit(one)
            await one.task
            runs.mark_ended(one)

        def last(name: str, *scopes: Scope, tenant: str = "t") -> float | None:
            return runs.find_last_end(build_viewer(Principal(name=name, tenant=tenant, scopes=frozenset(scopes))))

        for at, caller in ((1.0, "ann@t"), (2.0, "bob@t"), (3.0, "ann@t")):
            now[0] = at
            await end(str(at), caller)
        assert (last("ann"), last("bob"), last("bob", "read"), last("eve", "admin", tenant="x")) == (3.0, 2.0, 3.0, None)
        now[0] = 12.5
        await end("later", "carl@t")
        assert (last("ann"), last("bob"), last("carl")) == (3.0, None, 12.5)

    asyncio.run(use())


async def do_nothing() -> Outcome:
    return OUTCOME


async def never() -> Outcome:
    await asyncio.Event().wait()
    return OUTCOME


def runs_of(**settings: Any) -> ServedRuns:
    """The runs of a process without a runtime."""
    return build_runs(cast("Runtime", None), ServeConfig(**settings), places=100)


async def finish(runs: ServedRuns, run: ActiveRun, work: Work = do_nothing) -> None:
    start_run(runs, run, work)
    await asyncio.gather(run.task, return_exceptions=True)


@pytest.mark.anyio
async def test_a_finished_run_can_be_asked_for_again_until_it_is_forgotten() -> None:
    now = [0.0]
    runs = runs_of()
    runs.registry = RunRegistry(ShelfRules(seconds=10.0, most=10, bytes=1_000_000), background=1, clock=lambda: now[0])
    await finish(runs, ActiveRun(id="a", identity=ANN))

    assert [runs.registry.get("a", RunViewer(identity=ANN)).outcome for _ in range(2)] == [OUTCOME] * 2
    now[0] = 10.1
    with pytest.raises(NotFound):
        runs.registry.get("a", RunViewer(identity=ANN))


@pytest.mark.requirement("T46")
@pytest.mark.anyio
async def test_a_run_is_not_there_for_another_caller() -> None:
    runs = runs_of()
    await finish(runs, ActiveRun(id="a", identity=ANN))

    for stranger in (Identity(caller="bob"), Identity(tenant="another", caller="ann")):
        with pytest.raises(NotFound):
            runs.registry.get("a", RunViewer(identity=stranger))
        assert runs.registry.list_kept(stranger) == ()
    with pytest.raises(NotFound):
        runs.registry.get("a", RunViewer(identity=Identity(tenant="another", caller="eve"), whole_tenant=True))


@pytest.mark.anyio
async def test_what_one_tenant_has_done_does_not_push_out_what_another_has_not_fetched() -> None:
    runs, eve = runs_of(kept_most=3), Identity(tenant="another", caller="eve")
    await finish(runs, ActiveRun(id="a", identity=ANN))
    for number in range(5):
        await finish(runs, ActiveRun(id=str(number), identity=eve))

    assert runs.registry.get("a", RunViewer(identity=ANN)).outcome == OUTCOME
    assert [run.id for run in runs.registry.list_kept(eve)] == ["4", "3", "2"]


@pytest.mark.anyio
async def test_a_tenant_cannot_have_too_many_that_outlive_their_request_and_others_still_can() -> None:
    runs = runs_of(background=2)
    for number in range(2):
        start_run(runs, ActiveRun(id=str(number), identity=ANN, may_outlive=True, via="mcp"), never)

    for who in (ANN, Identity(caller="bob")):
        with pytest.raises(Busy, match="2 of your background executions"):
            start_run(runs, ActiveRun(identity=who, may_outlive=True), never)
    await finish(runs, ActiveRun(identity=ANN))  # a request waits for this one
    await finish(runs, ActiveRun(identity=Identity(tenant="another"), may_outlive=True))
    await runs.registry.cancel_all("mcp")
    assert runs.registry.active == []


@pytest.mark.anyio
async def test_a_run_that_failed_keeps_nothing_of_what_was_asked_for() -> None:
    class Asked:
        """Something large."""

    seen: list[weakref.ref[Asked]] = []

    async def fail() -> Outcome:
        asked = Asked()
        seen.append(weakref.ref(asked))
        raise NotFound("nothing is kept of it")

    runs, run = runs_of(), ActiveRun(id="a", identity=ANN)
    await finish(runs, run, fail)
    await asyncio.sleep(0)
    gc.collect()

    assert seen[0]() is None
    assert runs.registry.get("a", RunViewer(identity=ANN)).problem == RunProblem(
        code="not_found", message="nothing is kept of it"
    )
