"""What waits for the store: taken many at a time, for a commit costs more than a row, and answered many at a time, for waking
the askers costs more than an answer."""

import asyncio
import queue
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gristmill.store.base import Statement, Transaction
from gristmill.values import dataclass

BATCH = 256
"""Jobs that are done together."""


@dataclass(slots=True)
class Job:
    """Something to be done in a transaction: ``statements``, or ``work`` that also looks at what is there.

    ``asker`` waits for it; where nobody does, ``fail`` hears of a failure.
    """

    statements: Sequence[Statement] = ()
    work: Callable[[Transaction], Any] | None = None
    asker: "asyncio.Future[Any] | None" = None
    fail: Callable[[Exception], None] | None = None
    result: Any = None
    error: Exception | None = None
    is_done: bool = False
    """It stands, whatever becomes of the others."""

    @property
    def is_wanted(self) -> bool:
        """An asker who gave up before his turn wants nothing done."""
        return self.asker is None or not self.asker.cancelled()


Jobs = queue.Queue[Job | None]
"""``None`` is the end."""


def next_batch(jobs: Jobs) -> list[Job] | None:
    """The jobs that wait, at least one; nothing when the store is closed."""
    first = jobs.get()
    if first is None:
        return None
    batch = [first]
    while len(batch) < BATCH:
        try:
            job = jobs.get_nowait()
        except queue.Empty:
            break
        if job is None:
            jobs.put(None)
            break
        batch.append(job)
    return batch


def answer(jobs: Iterable[Job]) -> None:
    """Tell the askers what came of their jobs; called in a thread of the store."""
    asked: dict[asyncio.AbstractEventLoop, list[Job]] = {}
    for job in jobs:
        if job.asker is not None:
            asked.setdefault(job.asker.get_loop(), []).append(job)
        elif job.error is not None and job.fail is not None:
            job.fail(job.error)
    for loop, theirs in asked.items():
        try:
            loop.call_soon_threadsafe(_settle, theirs)
        except RuntimeError:
            pass  # the loop is closed: nobody waits any more


def _settle(jobs: Iterable[Job]) -> None:
    for job in jobs:
        if job.asker is None or job.asker.done():
            continue
        if job.error is not None:
            job.asker.set_exception(job.error)
        else:
            job.asker.set_result(job.result)
