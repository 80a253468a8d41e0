"""A store over any DB-API driver: one thread writes, in the order of arrival and many at a time; another reads.

What is brief is written on the spot where nothing is ahead of it, and the driver does not have to wait for a disk.
"""

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from gristmill.errors import StoreUnavailable
from gristmill.store.base import Row, Statement, Transaction, Value
from gristmill.store.connections import Line, Reader, Writer
from gristmill.store.driver import Driver
from gristmill.store.store_jobs import Job, Jobs, answer, next_batch

T = TypeVar("T")

WAITING = 20_000
"""Writes that may wait; past that the store has stalled, and saying so beats filling the memory."""
SOON_SECONDS, LATER_SECONDS = 0.005, 0.05
"""How long ``write_soon`` and ``write_later`` gather: a commit costs more than a row."""
SECONDS = 30.0
"""How long anybody waits for the store."""
BRIEF = 64
"""Statements that may be run on the spot, while the loop waits."""


class Database:
    """A ``Store``. Open it with ``open_store``."""

    def __init__(self, driver: Driver, tables: Sequence[str], *, read_only: bool = False) -> None:
        self._driver, self._tables, self._read_only = driver, tables, read_only
        self._writes: Jobs = queue.Queue(WAITING)
        self._reads: Jobs = queue.Queue(WAITING)
        self._failed: Exception | None = None
        self._told: Exception | None = None
        """The last failure that a ``flush`` has raised."""
        self._closed = False
        self._later: list[Statement] = []
        self._timer: asyncio.TimerHandle | None = None
        self._home = 0  # the thread of the loop whose timer that is
        self._threads = (
            threading.Thread(target=_serve, args=(self._writes, Writer(driver)), name="gristmill-store-write", daemon=True),
            threading.Thread(target=_serve, args=(self._reads, Reader(driver)), name="gristmill-store-read", daemon=True),
        )
        self._hasty = Writer(driver, driver.connect_hastily) if driver.is_quick else None
        self._spot = threading.Lock()  # held by whoever writes with it

    async def open(self) -> "Database":
        """Connect and make the tables that are missing.

        Raises:
            StoreUnavailable: the database cannot be opened.
        """
        for thread in self._threads:
            thread.start()
        try:
            await (self.read("SELECT 1") if self._read_only else self.change(self._make_tables))
        except StoreUnavailable:
            await self.close()
            raise
        return self

    async def read(self, sql: str, *values: Value) -> list[Row]:
        """The rows of one query, as of the last commit.

        Raises:
            StoreUnavailable: the database does not answer.
        """
        return await self._ask(self._reads, Job(work=lambda transaction: transaction.run(sql, *values)))

    async def write(self, *statements: Statement) -> None:
        """Run ``statements`` in one transaction; returns when they are committed.

        Raises:
            StoreUnavailable: nothing of them is, or (the message says so) the connection was lost during the commit.
        """
        self._keep_order()
        await self._ask(self._writes, Job(statements))

    async def change(self, work: Callable[[Transaction], T], *, is_brief: bool = False) -> T:
        """Run ``work`` in one transaction, alone among writers; it must not wait, and may be run anew after a rollback.

        What ``is_brief``, a row or two, may be done on the spot.

        Raises:
            StoreUnavailable: nothing was changed, or (the message says so) the connection was lost during the commit.
        """
        job = Job(work=work)
        if is_brief and self._on_the_spot(job):
            if job.error is not None:
                raise job.error
            return cast("T", job.result)
        self._keep_order()
        return await self._ask(self._writes, job)

    def _on_the_spot(self, job: Job) -> bool:
        """Do ``job`` here and now, unless others write: it takes less than to wake another thread and be woken by it."""
        if self._hasty is None or self._writes.unfinished_tasks or len(self._later) > BRIEF or self._closed:
            return False
        if not self._spot.acquire(blocking=False):
            return False
        try:
            if not self._hasty.begin():
                return False
            batch = [*(self._gathered() if self._is_home else ()), job]
            self._hasty.commit(batch)
        finally:
            self._spot.release()
        answer(batch)
        return True

    def write_soon(self, *statements: Statement) -> None:
        """As ``write``, without waiting: with the next write or in a moment. A failure is raised by the next ``flush``."""
        self._gather(statements, SOON_SECONDS)

    def write_later(self, *statements: Statement) -> None:
        """As ``write_soon``, a longer moment later and together with others: for what may be lost with the process."""
        self._gather(statements, LATER_SECONDS)

    def _gather(self, statements: Sequence[Statement], seconds: float) -> None:
        if self._closed:
            raise StoreUnavailable("the store is closed")
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # in a thread, where nobody calls back
            self._put(self._writes, Job(statements, fail=self._note))
            return
        self._later += statements
        if self._timer is not None and self._timer.when() > loop.time() + seconds:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._home = threading.get_ident()
            self._timer = loop.call_later(seconds, self._hand_over)

    def _keep_order(self) -> None:
        """What was to be written earlier is: an answer must not be kept without the masks that are in it."""
        if self._is_home:
            self._hand_over()

    @property
    def _is_home(self) -> bool:
        """Whether what is being gathered was gathered by this very thread."""
        return self._timer is not None and threading.get_ident() == self._home

    def _hand_over(self) -> None:
        """What was gathered comes now: before anything that is asked for meanwhile."""
        for job in self._gathered():
            try:
                self._put(self._writes, job)
            except StoreUnavailable as error:
                self._note(error)  # for whoever flushes: nobody waits here

    def _gathered(self) -> list[Job]:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        statements, self._later = self._later, []
        return [Job(statements, fail=self._note)] if statements else []

    async def flush(self) -> None:
        """Return when everything handed to ``write_soon`` and ``write_later`` is committed.

        Raises:
            StoreUnavailable: some of it could not be, whoever's it was: everybody who flushes meanwhile is told.
        """
        told = self._told
        self._hand_over()
        await self.write()
        if (failed := self._failed) is not None and failed is not told:
            self._told = failed
            raise StoreUnavailable(str(failed)) from failed

    async def close(self) -> None:
        """Commit what is waiting and end."""
        if self._closed:
            return
        self._hand_over()
        self._closed = True
        await asyncio.to_thread(self._end)

    def _end(self) -> None:
        for jobs in (self._writes, self._reads):
            jobs.put(None)
        for thread in self._threads:
            thread.join(SECONDS)
        with self._spot:
            if self._hasty is not None:
                self._hasty.discard()

    def _note(self, error: Exception) -> None:
        self._failed = error

    def _put(self, jobs: Jobs, job: Job) -> None:
        if self._closed:
            raise StoreUnavailable("the store is closed")
        try:
            jobs.put_nowait(job)
        except queue.Full:
            raise StoreUnavailable(f"the store has stalled: {WAITING} operations wait for it") from None

    async def _ask(self, jobs: Jobs, job: Job) -> Any:
        job.asker = asyncio.get_running_loop().create_future()
        self._put(jobs, job)
        try:
            async with asyncio.timeout(SECONDS):
                return await job.asker
        except TimeoutError:
            raise StoreUnavailable(f"the store did not answer within {SECONDS:.0f} s") from None

    def _make_tables(self, transaction: Transaction) -> None:
        for statement in self._tables:
            try:
                transaction.run(statement)
            except self._driver.failures as error:
                if "no such column" not in (reason := self._driver.reason(error)) and "does not exist" not in reason:
                    raise
                raise StoreUnavailable(
                    f"its tables were made by another version of Gristmill ({reason}): use that version, or move the store away"
                ) from None


def _serve(jobs: Jobs, line: Line) -> None:
    """What a thread of the store does until the store is closed."""
    while (batch := next_batch(jobs)) is not None:
        line.do(wanted := [job for job in batch if job.is_wanted])
        for _ in batch:
            jobs.task_done()
        answer(wanted)
    line.discard()
