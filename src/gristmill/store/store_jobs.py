"""The jobs that wait for the store.

They are done in batches, because a commit costs more than a row, and answered in batches, because waking the askers costs
more than an answer.
"""

import asyncio
import queue
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import Struct

from gristmill.store.base import Statement, Transaction

MOST_BATCH_JOBS = 256
"""How many jobs are done together at most."""


class StoreJob(Struct):
    """One job for a transaction: ``statements`` to write, or ``work`` that also reads.

    ``asker`` waits for the result. Without an asker, a failure is passed to the job's callback.
    """

    statements: Sequence[Statement] = ()
    work: Callable[[Transaction], Any] | None = None
    asker: "asyncio.Future[Any] | None" = None
    on_failure: Callable[[Exception], None] | None = None
    result: Any = None
    error: Exception | None = None
    is_done: bool = False
    """Whether it has succeeded by itself, so that a later failure of the batch does not affect it."""

    @property
    def is_wanted(self) -> bool:
        """Whether the result is still wanted: a job whose asker gave up before its turn is not done."""
        return self.asker is None or not self.asker.cancelled()


JobQueue = queue.Queue[StoreJob | None]
"""A queue of jobs; ``None`` ends it."""


def take_batch(jobs: JobQueue) -> list[StoreJob] | None:
    """Waits for jobs and takes those that are there, at least one; returns None when the store is closed."""
    first = jobs.get()
    if first is None:
        return None
    batch = [first]
    while len(batch) < MOST_BATCH_JOBS:
        try:
            job = jobs.get_nowait()
        except queue.Empty:
            break
        if job is None:
            jobs.put(None)
            break
        batch.append(job)
    return batch


def answer_askers(jobs: Iterable[StoreJob]) -> None:
    """Passes results and errors to the askers of the jobs; called in a thread of the store."""
    jobs_by_loop: dict[asyncio.AbstractEventLoop, list[StoreJob]] = {}
    for job in jobs:
        if job.asker is not None:
            jobs_by_loop.setdefault(job.asker.get_loop(), []).append(job)
        elif job.error is not None and job.on_failure is not None:
            job.on_failure(job.error)
    for loop, answered in jobs_by_loop.items():
        try:
            loop.call_soon_threadsafe(_settle_futures, answered)
        except RuntimeError:
            pass  # the loop is closed, so its askers do not wait any more


def _settle_futures(jobs: Iterable[StoreJob]) -> None:
    for job in jobs:
        if job.asker is None or job.asker.done():
            continue
        if job.error is not None:
            job.asker.set_exception(job.error)
        else:
            job.asker.set_result(job.result)
