"""The schedule by a clock that the tests drive, and one sync through the real gateway, with its approval."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from examples.omniops.schedule import GatewaySync
from examples.omniops.scheduled_sync import LONGEST_SLEEP, MOST_RUNS, ScheduledSync, SyncResult, SyncRun
from examples.omniops.seed import LAST_SYNC
from examples.opening import app_config
from gristmill import Runtime

START = datetime(2026, 6, 30, 3, 0, tzinfo=UTC)
DAY = timedelta(days=1)
OK, FAILED = SyncResult(status="ok", summary={"checked": 3}), SyncResult(status="failed", error="supplier is down")
WAITING, DENIED = SyncResult(status="waiting", execution="e1", plan="p1"), SyncResult(status="denied")


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


class Ended(Exception):
    """The script of the test is over."""


class ScriptedClock:
    """Time passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.time, self.longest = START, 0.0

    def now(self) -> datetime:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)
        self.longest = max(self.longest, seconds)
        await asyncio.sleep(0)


class ScriptedSync:
    """Answers in order, each after a minute of the clock; remembers what it was asked."""

    def __init__(self, clock: ScriptedClock, results: Sequence[SyncResult]) -> None:
        self.clock, self.left = clock, list(results)
        self.asked: list[tuple[datetime, str, SyncResult | None]] = []

    async def run(self, since: str, waiting: SyncResult | None) -> SyncResult:
        if not self.left:
            raise Ended
        self.asked.append((self.clock.time, since, waiting))
        await self.clock.sleep(60)
        return self.left.pop(0)


async def play(folder: Path, *results: SyncResult, every: timedelta = DAY, clock: ScriptedClock | None = None) -> ScriptedSync:
    """Runs the schedule until the results are used up."""
    clock = clock or ScriptedClock()
    sync = ScriptedSync(clock, results)
    with pytest.raises(Ended):
        await ScheduledSync(sync.run, folder / "sync.json", since=LAST_SYNC, every=every, clock=clock).run_forever()
    return sync


@pytest.mark.anyio
async def test_it_runs_at_once_and_then_at_the_same_time_every_day(tmp_path: Path) -> None:
    sync = await play(tmp_path, OK, OK, OK)

    assert [at for at, _, _ in sync.asked] == [START, START + DAY, START + 2 * DAY], "a sync that takes a minute moves nothing"
    assert [since for _, since, _ in sync.asked] == [LAST_SYNC, "2026-06-29", "2026-06-30"], "the day of a sync is read once more"
    assert sync.clock.longest <= LONGEST_SLEEP.total_seconds()


@pytest.mark.anyio
async def test_a_failure_is_tried_again_after_longer_and_longer_pauses_and_loses_no_change(tmp_path: Path) -> None:
    sync = await play(tmp_path, OK, FAILED, FAILED, FAILED, OK, OK)

    pauses = [other - one for (one, _, _), (other, _, _) in zip(sync.asked[1:], sync.asked[2:], strict=False)]
    assert pauses[:3] == [timedelta(minutes=1 + pause) for pause in (1, 2, 4)]
    assert {since for _, since, _ in sync.asked[1:5]} == {"2026-06-29"}
    assert sync.asked[5][0] == START + 2 * DAY, "after that it is on time again"


@pytest.mark.anyio
async def test_no_pause_is_longer_than_the_schedule(tmp_path: Path) -> None:
    sync = await play(tmp_path, *[FAILED] * 12, every=timedelta(minutes=30))
    assert max(other[0] - one[0] for one, other in zip(sync.asked, sync.asked[1:], strict=False)) == timedelta(minutes=31)


@pytest.mark.anyio
async def test_what_was_missed_while_the_process_was_gone_is_one_sync_at_once(tmp_path: Path) -> None:
    clock = ScriptedClock()
    await play(tmp_path, OK, clock=clock)
    clock.time = START + 9.5 * DAY
    sync = await play(tmp_path, OK, OK, clock=clock)

    assert [at for at, _, _ in sync.asked] == [START + 9.5 * DAY, START + 10 * DAY]
    assert sync.asked[0][1] == "2026-06-29"


@pytest.mark.anyio
async def test_what_waits_is_looked_at_and_not_begun_again_and_its_day_counts(tmp_path: Path) -> None:
    sync = await play(tmp_path, WAITING, WAITING, OK, OK)

    assert [waiting for _, _, waiting in sync.asked] == [None, WAITING, WAITING, None]
    assert sync.asked[1][0] - sync.asked[0][0] == timedelta(minutes=6)
    assert sync.asked[3][0] == START + DAY
    runs = ScheduledSync(sync.run, tmp_path / "sync.json", since=LAST_SYNC, every=DAY, clock=sync.clock).read_state().runs
    assert [run.result.status for run in runs] == ["waiting", "ok", "ok"]


@pytest.mark.anyio
async def test_a_refusal_is_asked_again_with_the_next_sync_only(tmp_path: Path) -> None:
    sync = await play(tmp_path, WAITING, DENIED, OK)

    assert [(at, since) for at, since, _ in sync.asked][2] == (START + DAY, LAST_SYNC), "nothing of it is forgotten"


@pytest.mark.anyio
async def test_only_one_process_runs_a_schedule_and_only_so_many_runs_are_kept(tmp_path: Path) -> None:
    clock = ScriptedClock()
    inner: list[str] = []

    async def run(_since: str, _waiting: SyncResult | None) -> SyncResult:
        try:
            await ScheduledSync(run, tmp_path / "sync.json", since=LAST_SYNC, every=DAY, clock=clock).run_once()
        except ValueError as error:
            inner.append(str(error))
        return OK

    schedule = ScheduledSync(run, tmp_path / "sync.json", since=LAST_SYNC, every=DAY, clock=clock)
    for _ in range(MOST_RUNS + 5):
        await schedule.run_once()
    assert "another process runs the schedule" in inner[0]
    assert len(schedule.read_state().runs) == MOST_RUNS


def test_what_cannot_be_a_schedule_is_refused(tmp_path: Path) -> None:
    async def run(_since: str, _waiting: SyncResult | None) -> SyncResult:
        return OK

    with pytest.raises(ValueError, match="at least a minute"):
        ScheduledSync(run, tmp_path / "s.json", since=LAST_SYNC, every=timedelta(seconds=5))
    with pytest.raises(ValueError, match="yesterday"):
        ScheduledSync(run, tmp_path / "s.json", since="yesterday", every=DAY)
    (tmp_path / "s.json").write_text("{")
    with pytest.raises(ValueError, match="is no state of a schedule"):
        ScheduledSync(run, tmp_path / "s.json", since=LAST_SYNC, every=DAY).read_state()


@pytest.fixture(scope="module")
async def runtime(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Runtime]:
    folder = tmp_path_factory.mktemp("schedule")
    for each in (folder, *folder.parents[:2]):
        each.chmod(0o755)  # code runs as another user when we are root
    async with Runtime.open(app_config("omniops", state=folder / "gateway")) as opened:
        yield opened


@pytest.mark.anyio
async def test_a_comparison_through_the_gateway_needs_nobody_and_writing_is_approved_once(
    runtime: Runtime, tmp_path: Path
) -> None:
    clock = ScriptedClock()

    def schedule(*, apply: bool) -> ScheduledSync:
        sync = GatewaySync(runtime, apply=apply)
        return ScheduledSync(sync.run, tmp_path / f"{apply}.json", since=LAST_SYNC, every=DAY, clock=clock)

    async def decide(run: SyncRun, answer: str) -> None:
        assert run.result.plan
        await runtime.approvals.decide(run.result.plan, "all" if answer == "all" else "none", by="mira")

    compared = (await schedule(apply=False).run_once()).result
    assert (compared.status, compared.summary["checked"], compared.summary["applied"]) == ("ok", 1_350, False)
    assert len(compared.summary["changes"]) == 10

    denied = await schedule(apply=True).run_once()
    assert (await schedule(apply=True).run_once()).result == denied.result, "the same plan still waits"
    await decide(denied, "none")
    assert (await schedule(apply=True).run_once()).result.status == "denied"

    asked = await schedule(apply=True).run_once()
    await decide(asked, "all")
    applied = (await schedule(apply=True).run_once()).result
    assert (applied.status, applied.summary["applied"], applied.summary["added"]) == ("ok", True, 150)
    state = schedule(apply=True).read_state()
    assert (state.since, state.waiting) == (str(date(2026, 6, 29)), None)
    assert (await schedule(apply=False).run_once()).result.summary["added"] == 0, "what was written is there"


@pytest.mark.anyio
async def test_a_gateway_that_fails_is_a_failure_and_not_the_end(runtime: Runtime) -> None:
    found = await GatewaySync(runtime).run("2026-06-01", SyncResult(status="waiting", execution="gone", plan="ap_gone"))
    assert found.status == "failed"
    assert (found.error or "").startswith("not_found")
