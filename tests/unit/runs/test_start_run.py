"""From a request to a run: nobody waits for ever, nothing is done twice for one key, and nothing is kept that must go."""

import asyncio
import dataclasses
import gc
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gristmill.config.tree import Config, StoreConfig
from gristmill.errors import Busy, Cancelled, Conflict, NotFound, SandboxUnavailable, StoreUnavailable
from gristmill.ledger.audit.audit_entries import ACCEPTED, AuditRecord
from gristmill.ledger.journal import RunRecord
from gristmill.ledger.kept_outcomes import KeptOutcomes
from gristmill.model import Identity, Outcome
from gristmill.runs.idempotency import make_execution_id
from gristmill.runs.served_runs import ServedRuns, open_runs
from gristmill.runs.start_run import RunRequest, begin_execution, wait_for_outcome
from gristmill.testing import FakePool, fake_runtime

pytestmark = pytest.mark.anyio

ANN = Identity(tenant="acme", caller="ann@acme")
KEY = "k"


class Context(dict[str, Any]):
    """A context to which there can be a weak reference."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def opened(state: Path) -> AsyncGenerator[ServedRuns]:
    config = Config(store=StoreConfig(path=state))
    async with fake_runtime(config, serving=True) as runtime:
        yield open_runs(runtime)


async def executed(runs: ServedRuns, code: str = "1") -> Outcome:
    """What comes of one request with the key."""
    async with asyncio.timeout(5):
        return await wait_for_outcome(runs, (await begin_execution(runs, request(code=code, key=KEY)))[0])


def forget_tokens(outcome: Outcome | None) -> Outcome | None:
    """The outcome without what is counted after it went back, and then filled in."""
    return outcome and dataclasses.replace(outcome, tokens_saved=None)


def request(**asked: Any) -> RunRequest:
    """A request of the same caller; the fingerprint of one with a key is its code."""
    return RunRequest(identity=ANN, fingerprint=asked.get("code") if "key" in asked else None, **asked)


async def test_whoever_waits_for_a_run_that_is_cancelled_before_it_begins_is_told_so(tmp_path: Path) -> None:
    async with opened(tmp_path) as runs:
        run, _ = await begin_execution(runs, request(code="1", background=True))
        waiting = asyncio.shield(run.acknowledged)
        run.task.cancel()
        with pytest.raises(Cancelled):
            async with asyncio.timeout(5):
                await waiting
        assert run.status == "cancelled"
        run.cancel()  # once more does nothing


async def test_a_run_that_failed_keeps_nothing_of_its_request(tmp_path: Path) -> None:
    async def fail(asked: RunRequest) -> None:
        with pytest.raises(NotFound):
            await wait_for_outcome(runs, (await begin_execution(runs, asked))[0])

    async with opened(tmp_path) as runs:
        context = Context(a="large")
        asked = request(resume="nothing", context=context)
        seen = weakref.ref(context)
        await fail(asked)
        (kept,) = runs.registry._runs.values()  # pyright: ignore[reportPrivateUsage]
        del asked, context
        await asyncio.sleep(0)  # what has woken us up holds the error until we wait again
        gc.collect()
        assert (kept.status, seen()) == ("error", None)


async def test_what_is_asked_for_while_the_service_begins_to_end_is_not_begun(tmp_path: Path) -> None:
    async with opened(tmp_path) as runs:
        late = asyncio.create_task(begin_execution(runs, request(code="1", resume="earlier")))
        await asyncio.sleep(0)  # it looks into the record now
        runs.draining = True
        with pytest.raises(Busy):
            await late
        assert not runs.registry.active


@pytest.mark.parametrize("what", ["journal", "audit"])
async def test_a_promise_that_could_not_be_kept_is_none_and_the_same_key_may_try_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    async with opened(tmp_path) as runs:
        desk = runs.runtime._rooms.intake  # pyright: ignore[reportPrivateUsage]
        part, name = (desk.journal, "claim_run") if what == "journal" else (runs.runtime.audit, "flush")
        with monkeypatch.context() as patch:
            patch.setattr(part, name, _away)
            with pytest.raises(StoreUnavailable):
                await executed(runs)
        await runs.runtime.audit.flush()  # the store is back, and so is what was to be written
        assert await executed(runs)


async def test_a_program_that_may_have_run_when_the_store_failed_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as runs:
        with monkeypatch.context() as patch:
            patch.setattr(type(runs.runtime._rooms.presenter), "__call__", _away)  # pyright: ignore[reportPrivateUsage]
            with pytest.raises(StoreUnavailable):
                await executed(runs)
        await runs.runtime.audit.flush()
        with pytest.raises(Conflict):
            await executed(runs)


@pytest.mark.requirement("T170")
@pytest.mark.parametrize("what", ["outcome", "record"])
@pytest.mark.parametrize("background", [False, True])
async def test_a_key_that_was_told_that_the_store_is_away_gets_the_outcome_once_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, background: bool
) -> None:
    async with opened(tmp_path) as runs:
        asked = request(code="1", background=background, key=KEY)
        with monkeypatch.context() as patch:
            if what == "outcome":
                patch.setattr(KeptOutcomes, "keep", _away)
            else:
                patch.setattr(runs.runtime.audit, "flush", _fail_from_second_call(runs.runtime.audit.flush))
            run, _ = await begin_execution(runs, asked)
            with pytest.raises(StoreUnavailable, match=f"execution {run.id} has ended"):
                await asyncio.wait_for(wait_for_outcome(runs, run), 5)
            with pytest.raises(StoreUnavailable):  # the store is still away
                await begin_execution(runs, asked)
        again, found = await begin_execution(runs, asked)
        await asyncio.wait_for(asyncio.shield(again.acknowledged), 5)
        outcome = await asyncio.wait_for(wait_for_outcome(runs, again), 5)
        assert (found, outcome.status, outcome.id) == (True, "ok", run.id)
        assert forget_tokens(await runs.runtime.outcome(run.id, identity=ANN)) == forget_tokens(outcome)


def _fail_from_second_call(work: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
    calls = 0

    async def call() -> None:
        nonlocal calls
        calls += 1
        await (work() if calls == 1 else _away())

    return call


@pytest.mark.requirement("T170")
async def test_a_key_gets_the_kept_outcome_from_another_process_and_another_request_does_not(tmp_path: Path) -> None:
    async with opened(tmp_path) as one:
        first = await executed(one)
    async with opened(tmp_path) as other:
        run, found = await begin_execution(other, request(code="1", key=KEY))
        kept = forget_tokens(await wait_for_outcome(other, run))
        assert (kept, found, run.is_replayed) == (forget_tokens(first), False, True)
        assert not other.counts  # it was counted when it ran
    async with opened(tmp_path) as third:
        with pytest.raises(Conflict, match="another request"):
            await executed(third, "2")


@pytest.mark.requirement("T170")
async def test_a_key_whose_execution_runs_in_another_process_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = asyncio.Event()

    async def wait(_call: object) -> None:
        await release.wait()

    config = Config(store=StoreConfig(path=tmp_path))
    async with fake_runtime(config, FakePool(program=wait), serving=True) as runtime, opened(tmp_path) as other:
        runs = open_runs(runtime)
        run, _ = await begin_execution(runs, request(code="1", background=True, key=KEY))
        await asyncio.wait_for(asyncio.shield(run.acknowledged), 5)
        monkeypatch.setattr(other.runtime, "lives_elsewhere", _yes)
        with pytest.raises(Conflict, match="still running in another process"):
            await wait_for_outcome(other, (await begin_execution(other, request(code="1", background=True, key=KEY)))[0])
        release.set()
        outcome = await wait_for_outcome(runs, run)
        again, _ = await begin_execution(other, request(code="1", background=True, key=KEY))
        assert forget_tokens(await wait_for_outcome(other, again)) == forget_tokens(outcome)


@pytest.mark.requirement("T171")
async def test_a_claim_whose_record_is_still_to_come_belongs_to_the_process_that_made_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as one, opened(tmp_path) as other:
        is_claimed, may_record = asyncio.Event(), asyncio.Event()
        flush = one.runtime.audit.flush

        async def flush_late() -> None:
            is_claimed.set()
            await may_record.wait()
            await flush()

        monkeypatch.setattr(one.runtime.audit, "flush", flush_late)
        run, _ = await begin_execution(one, request(code="1", key=KEY))
        await asyncio.wait_for(is_claimed.wait(), 5)
        with pytest.raises(Conflict, match="another process has just begun this"):
            await executed(other)
        may_record.set()
        assert await wait_for_outcome(one, run)
        # A process that died in between must not block the key for ever.
        monkeypatch.setattr("gristmill.runs.idempotency.CLAIM_SECONDS", 0.0)
        assert (await executed(other)).id == run.id


@pytest.mark.requirement("T170")
async def test_a_claim_of_a_process_that_died_before_its_record_blocks_no_key(tmp_path: Path) -> None:
    async with opened(tmp_path) as runs:
        id_ = make_execution_id(KEY, ANN)
        journal = runs.runtime._rooms.intake.journal  # pyright: ignore[reportPrivateUsage]
        record = RunRecord(id=id_, root=id_, session=None, owner=ANN, code="1", status="claimed")
        assert await journal.claim_run(record, None, process="another-machine.1.2.3")
        assert (await executed(runs)).id == id_


async def test_an_end_that_is_just_being_written_counts_and_so_does_the_last_beginning(tmp_path: Path) -> None:
    async with opened(tmp_path) as runs:
        run, _ = await begin_execution(runs, request(code="1", key=KEY))
        run.task.cancel()
        await asyncio.gather(run.task, return_exceptions=True)
        audit = runs.runtime.audit
        begun = AuditRecord(
            kind="execution", id=f"{run.id}/{ACCEPTED}", time=0.0, tenant="acme", caller=ANN.caller, status=ACCEPTED
        )  # fmt: skip
        audit.record(begun)
        await audit.flush()
        audit.record(replace(begun, id=run.id, status=SandboxUnavailable.code))
        again, _ = await begin_execution(runs, request(code="1", background=True, key=KEY))
        await asyncio.shield(again.acknowledged)  # nothing was run the first time
        again.task.cancel()
        await asyncio.gather(again.task, return_exceptions=True)
        audit.record(begun)  # another time, and the process died
        await audit.flush()
        with pytest.raises(Conflict):
            await executed(runs)


async def test_of_two_processes_with_the_same_key_one_executes(tmp_path: Path) -> None:
    async with opened(tmp_path) as one, opened(tmp_path) as other:
        for turn in range(5):
            begun = [await begin_execution(runs, request(code="1", key=f"{KEY}{turn}")) for runs in (one, other)]
            told = await asyncio.gather(*(run.task for run, _ in begun), return_exceptions=True)
            # The other one is told that it runs elsewhere, or gets the same outcome if it has ended already.
            outcomes = [forget_tokens(each) for each in told if isinstance(each, Outcome)]
            assert sum(not run.is_replayed for run, _ in begun if run.outcome is not None) == 1
            assert all(isinstance(each, Conflict) for each in told if not isinstance(each, Outcome))
            assert outcomes[1:] in ([], outcomes[:1])


async def _yes(*_: object) -> bool:
    return True


async def _away(*_: object, **__: object) -> None:
    raise StoreUnavailable("away")
