"""Runs that live longer than one request: in the background, as tasks, or parked while a person on a 2026 connection thinks.

A run belongs to its caller. How many there are, and how long a finished one is kept, is limited.
"""

import asyncio
import time
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable

from gristmill.errors import LimitExceeded, NotFound
from gristmill.model import Outcome
from gristmill.serve.mcp.run import Run
from gristmill.serve.mcp.who import Who

MOST_OF_CALLER = 16
MOST_FINISHED, ALL_FINISHED = 256, 2_048
"""Finished runs that are kept of one tenant, and of everybody together."""
KEPT_SECONDS = 900.0


class Runs:
    """Every run that may be asked for again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._runs: dict[str, Run] = {}
        self._clock = clock

    def start(self, run: Run, execute: Callable[[Run], Awaitable[Outcome]]) -> None:
        """Begin.

        Raises:
            LimitExceeded: the caller has too many at once.
        """
        self._forget()
        active = sum(other.who == run.who and not other.task.done() for other in self._runs.values())
        if active >= MOST_OF_CALLER:
            text = f"{active} runs of yours are under way: wait for one with resume before you start another"
            raise LimitExceeded(text, limit="background", value=MOST_OF_CALLER)

        async def whole() -> Outcome:
            return await execute(run)

        run.task = asyncio.create_task(whole())
        run.task.add_done_callback(lambda _: self._ended(run))
        self._runs[run.id] = run

    def get(self, id: str, who: Who) -> Run:  # noqa: A002  # the protocol's own word
        """The run of that id, if it is the caller's.

        Raises:
            NotFound: there is none here.
        """
        self._forget()
        run = self._runs.get(id)
        if run is None or run.who != who:
            raise NotFound(f"no run {id!r} is under way or kept here")
        return run

    def of(self, who: Who) -> tuple[Run, ...]:
        """The caller's runs, the newest in front."""
        self._forget()
        return tuple(run for run in reversed(self._runs.values()) if run.who == who)

    async def close(self) -> None:
        """End all."""
        tasks = [run.task for run in self._runs.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, run: Run) -> None:
        run.finished, run.changed = self._clock(), time.time()
        error = None if run.task.cancelled() else run.task.exception()  # seen: whoever attends gets it
        if error is not None:
            traceback.clear_frames(error.__traceback__)  # they would hold all that was asked for, as long as the run is kept

    def _forget(self) -> None:
        since, newer = self._clock() - KEPT_SECONDS, Counter[str]()
        finished = [(run.finished, run) for run in self._runs.values() if run.finished is not None]
        finished.sort(key=lambda each: each[0], reverse=True)
        for at, run in finished:
            # By tenant: what one of them has done does not push out what another has not fetched yet.
            if at < since or newer[run.who.tenant] >= MOST_FINISHED or newer.total() >= ALL_FINISHED:
                del self._runs[run.id]
            else:
                newer[run.who.tenant] += 1
