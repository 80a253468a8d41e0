"""From a request to a run: nobody waits for ever, nothing is done twice for one key, and nothing is kept that must go."""

import asyncio
import gc
import weakref
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from gristmill.config.tree import Config, StoreConfig
from gristmill.errors import Busy, Cancelled, Conflict, NotFound, SandboxUnavailable, StoreUnavailable
from gristmill.ledger.audit.audit_entries import ACCEPTED, AuditRecord
from gristmill.model import Outcome
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.api_shapes import ExecuteRequest
from gristmill.serve.http.http_door import Door, open_door
from gristmill.serve.http.limits.request_bodies import Budget
from gristmill.serve.http.start_execution import begin, outcome_of
from gristmill.testing import fake_runtime

pytestmark = pytest.mark.anyio

ANN = Principal(name="ann", tenant="acme", scopes=frozenset({"execute"}))
KEY = "k"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def opened(state: Path) -> AsyncGenerator[Door]:
    config = Config(store=StoreConfig(path=state))
    async with fake_runtime(config, serving=True) as runtime:
        yield open_door(runtime)


async def executed(door: Door, code: str = "1") -> Outcome:
    """What comes of one request with the key."""
    async with asyncio.timeout(5):
        return await outcome_of(door, (await begin(door, ANN, ExecuteRequest(code=code), key=KEY))[0])


async def test_whoever_waits_for_a_background_run_that_finds_no_room_is_told_so(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        door.budget = Budget(100)
        for code, context in (("#" * 80, {}), ("1", {"a": "x" * 80})):
            run, _ = await begin(door, ANN, ExecuteRequest(code=code, context=context, background=True))
            with pytest.raises(Busy):
                async with asyncio.timeout(5):
                    await asyncio.shield(run.acknowledged)


async def test_what_comes_over_a_socket_is_held_against_the_same_budget(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        door.budget = Budget(100)
        run, _ = await begin(door, ANN, ExecuteRequest(code="1", context={"a": "x" * 80}), via="ws")
        with pytest.raises(Busy):
            await outcome_of(door, run)
        assert await executed(door, "#" * 80)  # a request holds its own body


async def test_whoever_waits_for_a_run_that_is_cancelled_before_it_begins_is_told_so(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        run, _ = await begin(door, ANN, ExecuteRequest(code="1", background=True))
        waiting = asyncio.shield(run.acknowledged)
        run.task.cancel()
        with pytest.raises(Cancelled):
            async with asyncio.timeout(5):
                await waiting
        assert run.status == "cancelled"
        run.cancel()  # once more does nothing


async def test_a_run_that_failed_keeps_nothing_of_its_request(tmp_path: Path) -> None:
    async def fail(asked: ExecuteRequest) -> None:
        with pytest.raises(NotFound):
            await outcome_of(door, (await begin(door, ANN, asked))[0])

    async with opened(tmp_path) as door:
        asked = ExecuteRequest(resume="nothing", context={"a": "large"})
        seen = weakref.ref(asked)
        await fail(asked)
        (kept,) = door.runs._runs.values()  # pyright: ignore[reportPrivateUsage]
        del asked
        await asyncio.sleep(0)  # what has woken us up holds the error until we wait again
        gc.collect()
        assert (kept.status, seen()) == ("error", None)


async def test_what_is_asked_for_while_the_service_begins_to_end_is_not_begun(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        late = asyncio.create_task(begin(door, ANN, ExecuteRequest(code="1", resume="earlier")))
        await asyncio.sleep(0)  # it looks into the record now
        door.draining = True
        with pytest.raises(Busy):
            await late
        assert not door.runs.active


@pytest.mark.parametrize("what", ["journal", "audit"])
async def test_a_promise_that_could_not_be_kept_is_none_and_the_same_key_may_try_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    async with opened(tmp_path) as door:
        desk = door.runtime._rooms.desk  # pyright: ignore[reportPrivateUsage]
        part, name = (desk.journal, "claim") if what == "journal" else (door.runtime.audit, "flush")
        with monkeypatch.context() as patch:
            patch.setattr(part, name, _away)
            with pytest.raises(StoreUnavailable):
                await executed(door)
        await door.runtime.audit.flush()  # the store is back, and so is what was to be written
        assert await executed(door)


async def test_a_program_that_may_have_run_when_the_store_failed_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as door:
        with monkeypatch.context() as patch:
            patch.setattr(type(door.runtime._rooms.present), "__call__", _away)  # pyright: ignore[reportPrivateUsage]
            with pytest.raises(StoreUnavailable):
                await executed(door)
        await door.runtime.audit.flush()
        with pytest.raises(Conflict):
            await executed(door)


async def test_an_end_that_is_just_being_written_counts_and_so_does_the_last_beginning(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        run, _ = await begin(door, ANN, ExecuteRequest(code="1"), key=KEY)
        run.task.cancel()
        await asyncio.gather(run.task, return_exceptions=True)
        audit = door.runtime.audit
        begun = AuditRecord(
            kind="execution", id=f"{run.id}/{ACCEPTED}", time=0.0, tenant="acme", caller=ANN.caller, status=ACCEPTED
        )  # fmt: skip
        audit.record(begun)
        await audit.flush()
        audit.record(replace(begun, id=run.id, status=SandboxUnavailable.code))
        again, _ = await begin(door, ANN, ExecuteRequest(code="1", background=True), key=KEY)
        await asyncio.shield(again.acknowledged)  # nothing was run the first time
        again.task.cancel()
        await asyncio.gather(again.task, return_exceptions=True)
        audit.record(begun)  # another time, and the process died
        await audit.flush()
        with pytest.raises(Conflict):
            await executed(door)


async def test_of_two_processes_with_the_same_key_one_executes(tmp_path: Path) -> None:
    async with opened(tmp_path) as one, opened(tmp_path) as other:
        for turn in range(5):
            asked = ExecuteRequest(code="1")
            begun = [await begin(door, ANN, asked, key=f"{KEY}{turn}") for door in (one, other)]
            told = await asyncio.gather(*(run.task for run, _ in begun), return_exceptions=True)
            assert sorted(type(one).__name__ for one in told) == ["Conflict", "Outcome"]


async def _away(*_: object) -> None:
    raise StoreUnavailable("away")
