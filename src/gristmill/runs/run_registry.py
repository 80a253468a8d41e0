"""The runs of one process that clients can ask for by id: running ones, and for a while finished ones, of every door."""

import asyncio
import logging
import time
from collections.abc import Callable

import msgspec
from msgspec import Struct

from gristmill.errors import Busy, Cancelled, Error, NotFound
from gristmill.model import Identity
from gristmill.runs.active_run import ActiveRun, RunProblem
from gristmill.runs.finished_shelf import FinishedRun, FinishedShelf, ShelfRules
from gristmill.runtime.values.audit_values import INTERRUPTED

log = logging.getLogger(__name__)


class RunViewer(Struct, frozen=True, kw_only=True):
    """Who asks for runs: a caller sees its own, and with ``whole_tenant`` all of its tenant."""

    identity: Identity
    whole_tenant: bool = False

    def may_see(self, owner: Identity) -> bool:
        """Whether the viewer may see what ``owner`` did."""
        return self.identity == owner or (self.whole_tenant and self.identity.tenant == owner.tenant)


class RunRegistry:
    """All runs that clients can ask for, and notice of their changes."""

    def __init__(self, rules: ShelfRules, *, background: int, clock: Callable[[], float] = time.time) -> None:
        self._rules, self._background, self._clock = rules, background, clock
        self._runs: dict[str, ActiveRun] = {}
        self._active: dict[str, ActiveRun] = {}
        self._shelf = FinishedShelf(rules, self._forget_run)
        self._last_ends: dict[Identity, float] = {}
        """When the last kept run of each caller ended; kept here because event streams ask for it very often."""
        self.changed = asyncio.Event()
        """Set, and replaced by a new event, when a run begins or ends; while ``watching`` is above 0, also on progress."""
        self.watching = 0
        """How many streams watch all runs now."""

    @property
    def active(self) -> list[ActiveRun]:
        """The runs that have not ended."""
        return list(self._active.values())

    def admit(self, run: ActiveRun) -> None:
        """Adds a run, before it begins.

        Raises:
            Busy: the tenant has too many executions that go on without a request.
        """
        self._shelf.expire(self._clock())
        if run.may_outlive:
            count = sum(one.may_outlive and one.identity.tenant == run.identity.tenant for one in self.active)
            if count >= self._background:
                text = f"{count:,} of your background executions are running: wait for one to end"
                raise Busy(text, limit="serve.background", value=self._background, retry_after=5.0)
        self._runs[run.id] = self._active[run.id] = run
        run.kept_seconds, run.on_change = self._rules.seconds, self._tell_watchers
        self.wake_streams()

    def mark_ended(self, run: ActiveRun) -> None:
        """Marks a run as ended, with its outcome, as failed or as cancelled."""
        error = None if run.task.cancelled() else run.task.exception()
        run.outcome = None if run.task.cancelled() or error else run.task.result()
        self._active.pop(run.id, None)
        self._last_ends[run.identity] = now = self._clock()
        if run.outcome is not None:
            run.record_end("outcome", run.outcome, now)
        else:
            run.problem = _describe_problem(run, error)
            run.record_end("problem", {name: value for name, value in _list_fields(run.problem) if value is not None}, now)
        # The task holds its context, and an error each frame that it passed through, with the request's body: do not keep them.
        del run.task
        self._shelf.put(run)
        self.wake_streams()

    def drop(self, run: ActiveRun) -> None:
        """Removes a run that did not take place."""
        self._runs.pop(run.id, None)
        self._active.pop(run.id, None)
        self.wake_streams()

    def peek(self, id: str) -> ActiveRun | None:  # noqa: A002 - the record's own word
        """Returns the run with that id, of any tenant; only for use inside the service."""
        return self._runs.get(id)

    def get(self, id: str, viewer: RunViewer) -> ActiveRun:  # noqa: A002 - the record's own word
        """Returns the run with that id if ``viewer`` may see it.

        Raises:
            NotFound: there is no such run here, or ``viewer`` may not see it; the error does not say which.
        """
        self._shelf.expire(self._clock())
        run = self._runs.get(id)
        if run is None or not viewer.may_see(run.identity):
            raise NotFound(f"no execution {id[:80]!r} is running or kept here")
        return run

    def list_running(self, viewer: RunViewer) -> list[ActiveRun]:
        """Returns the running executions that ``viewer`` may see, the newest first."""
        seen = [run for run in self._active.values() if viewer.may_see(run.identity)]
        return sorted(seen, key=lambda run: -run.began)

    def list_kept(self, identity: Identity) -> tuple[ActiveRun, ...]:
        """Returns the running and kept executions of one caller, the newest first."""
        self._shelf.expire(self._clock())
        return tuple(run for run in reversed(self._runs.values()) if run.identity == identity)

    def find_last_end(self, viewer: RunViewer) -> float | None:
        """Returns when the last kept run that ``viewer`` may see ended; None if there is none."""
        return max((ended for owner, ended in self._last_ends.items() if viewer.may_see(owner)), default=None)

    async def drain(self, seconds: float) -> int:
        """Waits ``seconds`` for the running executions to end, then cancels the rest; returns how many it cancelled."""
        tasks = {run.task for run in self.active}
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=seconds)
            for task in late:
                task.cancel(INTERRUPTED)
            await asyncio.gather(*late, return_exceptions=True)
            return len(late)
        return 0

    async def cancel_all(self, via: str, reason: str | None = None) -> None:
        """Cancels the runs that arrived that way, and waits for their end; ``reason`` is what their records say."""
        tasks = [run.task for run in self.active if run.via == via]
        for task in tasks:
            task.cancel(reason)
        await asyncio.gather(*tasks, return_exceptions=True)

    def _forget_run(self, run: FinishedRun) -> None:
        if not isinstance(run, ActiveRun):
            return
        if self._last_ends.get(run.identity) == run.ended:
            del self._last_ends[run.identity]
        if self._runs.get(run.id) is run:  # a newer run with the same idempotency key may have replaced it
            del self._runs[run.id]

    def _tell_watchers(self) -> None:
        if self.watching:
            self.wake_streams()

    def wake_streams(self) -> None:
        """Wakes the streams that wait for a change."""
        self.changed.set()
        self.changed = asyncio.Event()


def _describe_problem(run: ActiveRun, error: BaseException | None) -> RunProblem:
    if error is None:
        return RunProblem(code=Cancelled.code)
    if isinstance(error, Error):
        return RunProblem(code=error.code, message=error.message)
    log.error("execution %s failed by a fault of the service", run.id, exc_info=error)
    return RunProblem(code="error")


def _list_fields(problem: RunProblem) -> list[tuple[str, str | None]]:
    return list(msgspec.structs.asdict(problem).items())
