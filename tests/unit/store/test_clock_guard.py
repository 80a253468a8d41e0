"""A clock that jumps is noticed, in one process and across restarts, and nothing is deleted because of it."""

import logging
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from gristmill.config.sections.records_section import RecordsConfig
from gristmill.config.tree import Config, StoreConfig
from gristmill.errors import Conflict
from gristmill.guard.policy.approvals import Approvals
from gristmill.ledger.prometheus_metrics import Metrics
from gristmill.model import Identity, PlannedCall
from gristmill.runtime.open.open_durable import open_durable_stores
from gristmill.runtime.recording.daily_retention import DailyRetention
from gristmill.session.session_register import SessionRegister, SessionRetention
from gristmill.store.base import Store
from gristmill.store.clock_guard import ClockGuard, trust_clock
from gristmill.store.open_store import open_store

pytestmark = pytest.mark.anyio
DAY = 86_400.0
ANN = Identity(tenant="acme", caller="ann")


class Machine:
    """A machine whose wall clock and uptime are set by the test."""

    def __init__(self) -> None:
        self.wall, self.up, self.boot = 1_800_000_000.0, 500.0, "one"

    def pass_time(self, seconds: float) -> None:
        self.wall += seconds
        self.up += seconds

    def restart(self, seconds: float) -> None:
        self.wall, self.up, self.boot = self.wall + seconds, 5.0, f"{self.boot}+"

    def guard(self, store: Store) -> ClockGuard:
        return ClockGuard(store, lambda: self.wall, uptime=lambda: self.up, boot=self.boot)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[Store]:
    opened = await open_store(tmp_path)
    yield opened
    await opened.close()


async def begun(store: Store, machine: Machine) -> ClockGuard:
    guard = machine.guard(store)
    await guard.sync()
    return guard


async def test_time_that_passes_is_no_jump_also_across_restarts(store: Store) -> None:
    machine = Machine()
    guard = await begun(store, machine)
    for _ in range(3):
        machine.pass_time(40 * DAY)
        assert guard.problem is None
        await guard.sync()
    machine.pass_time(40 * DAY)  # no process runs, and the machine does
    assert (await begun(store, machine)).problem is None
    machine.restart(5 * DAY)
    assert (await begun(store, machine)).problem is None


@pytest.mark.requirement("T136")
@pytest.mark.parametrize("days", [40, -40])
async def test_a_jump_is_noticed_at_once_and_after_a_restart_of_the_process_and_ends_when_time_agrees(
    store: Store, days: float, caplog: pytest.LogCaptureFixture
) -> None:
    machine = Machine()
    guard = await begun(store, machine)
    machine.wall += days * DAY
    for each in (guard, await begun(store, machine)):
        assert each.problem is not None
        assert "40.0 days" in each.problem
        await each.sync()
    assert any(record.levelno == logging.ERROR and "nothing is deleted" in record.message for record in caplog.records)
    machine.wall -= days * DAY
    for each in (guard, await begun(store, machine)):
        await each.sync()
        assert each.problem is None


@pytest.mark.parametrize("days", [40, -40])
async def test_a_machine_that_starts_with_a_wrong_clock_is_in_doubt_until_the_clock_is_set(store: Store, days: float) -> None:
    machine = Machine()
    await begun(store, machine)
    machine.restart(days * DAY)
    guard = await begun(store, machine)
    assert guard.problem is not None
    machine.wall += (2 - days) * DAY  # two days had passed
    assert guard.problem is None


async def test_an_operator_confirms_and_every_process_takes_it_over(store: Store) -> None:
    machine = Machine()
    guard = await begun(store, machine)
    machine.wall += 40 * DAY
    await guard.sync()
    await trust_clock(store, lambda: machine.wall)
    assert guard.problem is not None  # not yet heard of
    await guard.sync()
    assert guard.problem is None


async def test_what_is_stored_does_not_go_back_with_the_clock(store: Store) -> None:
    machine = Machine()
    guard = await begun(store, machine)
    before = machine.wall
    machine.pass_time(10)
    machine.wall -= 40 * DAY
    assert (guard.now(), guard.estimate()) == (before + 10, before + 10)
    machine.wall += 80 * DAY
    assert (guard.now(), guard.estimate()) == (machine.wall, before + 10)


@pytest.mark.requirement("T136")
@pytest.mark.parametrize("days", [40, -40])
async def test_sessions_live_through_a_jump_and_back(store: Store, days: float) -> None:
    machine, removed = Machine(), list[str]()
    guard = await begun(store, machine)
    register = SessionRegister(
        store, SessionRetention(seconds=30 * DAY, bytes_per_tenant=1, sessions_per_tenant=9), remove_files=removed.append,
        clock=guard.now, may_expire=guard.may_expire,
    )  # fmt: skip
    opened = await register.open("work", identity=ANN)
    machine.wall += days * DAY
    for _ in range(2):
        machine.pass_time(120)
        assert (await register.open("work", identity=ANN)).handle == opened.handle
        assert [each.handle for each in await register.list(identity=ANN)] == [opened.handle]
        assert (await register.prune(), removed) == ((), [])
        machine.wall -= days * DAY
    assert (await register.get(opened.handle, identity=ANN)).handle == opened.handle


@pytest.mark.requirement("T136")
async def test_retention_deletes_no_plans_or_runs_while_the_clock_is_in_doubt(tmp_path: Path) -> None:
    machine = Machine()
    config = Config(store=StoreConfig(path=tmp_path))
    async with open_durable_stores(config, lambda: machine.wall) as durable:
        call = PlannedCall(number=1, tool="files.write", arguments={}, rule="default", hash="h")
        await durable.approvals.submit_plan([call], root="e", execution="e", session=None, identity=ANN, seconds=600)
        guard = await begun(durable.store, machine)
        chores = DailyRetention(
            store=durable.store, journal=durable.journal, outcomes=durable.outcomes, approvals=durable.approvals,
            audit=durable.audit, rules=RecordsConfig(), clock=lambda: machine.wall, guard=guard,
        )  # fmt: skip
        machine.wall += 400 * DAY
        assert await chores.run_if_due() is False
        assert len(await durable.approvals.list(pending_only=False)) == 1
        with pytest.raises(Conflict, match="trust-clock"):
            await durable.session_stores.prune()
        machine.wall -= 400 * DAY
        assert [each.root for each in await durable.approvals.list()] == ["e"]


@pytest.mark.requirement("T136")
async def test_a_clock_that_jumps_while_retention_runs_deletes_nothing(tmp_path: Path) -> None:
    machine, config = Machine(), Config(store=StoreConfig(path=tmp_path))
    async with open_durable_stores(config) as durable:
        approvals, guard = Approvals(durable.store, lambda: machine.wall), await begun(durable.store, machine)
        call = PlannedCall(number=1, tool="files.write", arguments={}, rule="default", hash="h")
        await approvals.submit_plan([call], root="e", execution="e", session=None, identity=ANN, seconds=600)

        def read_clock_before_it_jumps() -> float:
            before = machine.wall
            machine.wall += 400 * DAY
            return before

        chores = DailyRetention(
            store=durable.store, journal=durable.journal, outcomes=durable.outcomes, approvals=approvals, audit=durable.audit,
            rules=RecordsConfig(), clock=read_clock_before_it_jumps,
        )  # fmt: skip
        await durable.store.write(("DELETE FROM chores", ()))
        assert await chores.run_if_due()
        assert guard.problem is not None
        assert len(await approvals.list(pending_only=False)) == 1


def test_the_metric_says_whether_the_clock_is_trusted() -> None:
    for trusted, expected in ((True, b"clock_trusted 1.0"), (False, b"clock_trusted 0.0")):
        assert expected in Metrics(clock_trusted=lambda trusted=trusted: trusted).render()
