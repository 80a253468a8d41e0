"""A store on top of any DB-API driver: one thread writes, in the order of arrival and many jobs at a time; another reads.

A brief write is done in the caller's thread if no other write waits and the driver does not wait for a disk.
"""

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar, cast

from gristmill.errors import StoreUnavailable
from gristmill.store.base import Row, Statement, Transaction, Value
from gristmill.store.connections import StoreConnection, StoreReader, StoreWriter
from gristmill.store.driver import Driver
from gristmill.store.schema.migrate_store import migrate_store
from gristmill.store.schema.migration import Migration
from gristmill.store.schema.migrations import MIGRATIONS
from gristmill.store.schema.store_version import StoreVersion, check_version, read_version
from gristmill.store.store_jobs import JobQueue, StoreJob, answer_askers, take_batch

T = TypeVar("T")

MOST_WAITING_JOBS = 20_000
"""How many jobs may wait. With more the store has stalled, and an error is better than filling the memory."""
SOON_SECONDS, LATER_SECONDS = 0.005, 0.05
"""How long ``write_soon`` and ``write_later`` gather statements: a commit costs more than a row."""
WAIT_SECONDS = 30.0
"""How long a caller waits for the store."""
MOST_BRIEF_STATEMENTS = 64
"""How many gathered statements may be run in the caller's thread, while the event loop waits."""


class Database:
    """The ``Store``. ``open_store`` opens it."""

    def __init__(self, driver: Driver, migrations: Sequence[Migration] = MIGRATIONS, *, read_only: bool = False) -> None:
        self._driver, self._migrations, self._read_only = driver, migrations, read_only
        self._writes: JobQueue = queue.Queue(MOST_WAITING_JOBS)
        self._reads: JobQueue = queue.Queue(MOST_WAITING_JOBS)
        self._failed: Exception | None = None
        self._raised: Exception | None = None
        """The last failure that ``flush`` has raised."""
        self._closed = False
        self._gathered: list[Statement] = []
        self._timer: asyncio.TimerHandle | None = None
        self._timer_thread = 0  # the thread whose event loop runs that timer
        self._threads = (
            threading.Thread(
                target=_serve_queue, args=(self._writes, StoreWriter(driver)), name="gristmill-store-write", daemon=True
            ),
            threading.Thread(
                target=_serve_queue, args=(self._reads, StoreReader(driver)), name="gristmill-store-read", daemon=True
            ),
        )
        self._quick_writer = StoreWriter(driver, driver.connect_without_waiting) if driver.is_quick else None
        self._quick_lock = threading.Lock()  # protects _quick_writer: held by the thread that writes with it

    async def open(self) -> "Database":
        """Connects, and brings the schema to the newest version.

        A database that is only read keeps its version: what is read so, the audit, has been the same since version 1.

        Raises:
            StoreUnavailable: the database cannot be opened, is newer than this program, or could not be migrated.
        """
        for thread in self._threads:
            thread.start()
        try:
            version = await self.read_version()
            check_version(version, self._migrations)
            if version.number < self._migrations[-1].number and not self._read_only:
                await asyncio.to_thread(migrate_store, self._driver, self._migrations)
            elif not self._read_only:
                await self.write()  # fails now, rather than with the first record, if the database cannot be written
        except StoreUnavailable:
            await self.close()
            raise
        return self

    async def read_version(self) -> StoreVersion:
        """Returns the version of the schema that the database has now.

        Raises:
            StoreUnavailable: the database does not answer, or has tables that Gristmill did not make.
        """
        work = partial(read_version, driver=self._driver, first=self._migrations[0])
        return await self._run_in_thread(self._reads, StoreJob(work=work))

    async def read(self, sql: str, *values: Value) -> list[Row]:
        """Returns the rows of one query, as of the last commit.

        Raises:
            StoreUnavailable: the database does not answer.
        """
        return await self._run_in_thread(self._reads, StoreJob(work=lambda transaction: transaction.run(sql, *values)))

    async def write(self, *statements: Statement) -> None:
        """Runs ``statements`` in one transaction; returns when they are committed.

        Raises:
            StoreUnavailable: none of them was written, or (the message says so) the connection was lost during the commit.
        """
        self._keep_order()
        await self._run_in_thread(self._writes, StoreJob(statements))

    async def change(self, work: Callable[[Transaction], T], *, is_brief: bool = False) -> T:
        """Runs ``work`` in one transaction, with no other writer at the same time; returns its result.

        It must not wait, and may be run again after a rollback. If it ``is_brief`` (a row or two), it may run in the caller's
        thread.

        Raises:
            StoreUnavailable: nothing was changed, or (the message says so) the connection was lost during the commit.
        """
        job = StoreJob(work=work)
        if is_brief and self._run_at_once(job):
            if job.error is not None:
                raise job.error
            return cast("T", job.result)
        self._keep_order()
        return await self._run_in_thread(self._writes, job)

    def _run_at_once(self, job: StoreJob) -> bool:
        """Runs ``job`` in this thread, unless others write; returns whether it did.

        This is faster than waking the writer thread.
        """
        if (
            self._quick_writer is None
            or self._writes.unfinished_tasks
            or len(self._gathered) > MOST_BRIEF_STATEMENTS
            or self._closed
        ):
            return False
        if not self._quick_lock.acquire(blocking=False):
            return False
        try:
            if not self._quick_writer.begin():
                return False
            batch = [*(self._take_gathered() if self._is_timer_thread else ()), job]
            self._quick_writer.commit(batch)
        finally:
            self._quick_lock.release()
        answer_askers(batch)
        return True

    def write_soon(self, *statements: Statement) -> None:
        """Does the same as ``write`` without waiting: with the next write or after a moment.

        The next ``flush`` raises a failure.
        """
        self._gather(statements, SOON_SECONDS)

    def write_later(self, *statements: Statement) -> None:
        """Does the same as ``write_soon``, after a longer moment and with others: for rows that may be lost with the process."""
        self._gather(statements, LATER_SECONDS)

    def _gather(self, statements: Sequence[Statement], seconds: float) -> None:
        if self._closed:
            raise StoreUnavailable("the store is closed")
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # in a thread without an event loop, so there is no timer
            self._put_job(self._writes, StoreJob(statements, on_failure=self._note_failure))
            return
        self._gathered += statements
        if self._timer is not None and self._timer.when() > loop.time() + seconds:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer_thread = threading.get_ident()
            self._timer = loop.call_later(seconds, self._hand_over)

    def _keep_order(self) -> None:
        """Hands over statements that were gathered earlier: an answer must not be stored before the masks that it contains."""
        if self._is_timer_thread:
            self._hand_over()

    @property
    def _is_timer_thread(self) -> bool:
        """Whether the statements being gathered were gathered by this thread."""
        return self._timer is not None and threading.get_ident() == self._timer_thread

    def _hand_over(self) -> None:
        """Puts the gathered statements into the queue, before anything that is requested later."""
        for job in self._take_gathered():
            try:
                self._put_job(self._writes, job)
            except StoreUnavailable as error:
                self._note_failure(error)  # no caller waits here: the next flush reports it

    def _take_gathered(self) -> list[StoreJob]:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        statements, self._gathered = self._gathered, []
        return [StoreJob(statements, on_failure=self._note_failure)] if statements else []

    async def flush(self) -> None:
        """Returns when everything handed to ``write_soon`` and ``write_later`` is committed.

        Raises:
            StoreUnavailable: some of it could not be written, by any caller: all concurrent flushes are told.
        """
        raised = self._raised
        self._hand_over()
        await self.write()
        if (failed := self._failed) is not None and failed is not raised:
            self._raised = failed
            raise StoreUnavailable(str(failed)) from failed

    async def close(self) -> None:
        """Commits what is waiting and closes the database."""
        if self._closed:
            return
        self._hand_over()
        self._closed = True
        await asyncio.to_thread(self._stop_threads)

    def _stop_threads(self) -> None:
        for jobs in (self._writes, self._reads):
            jobs.put(None)
        for thread in self._threads:
            thread.join(WAIT_SECONDS)
        with self._quick_lock:
            if self._quick_writer is not None:
                self._quick_writer.discard()

    def _note_failure(self, error: Exception) -> None:
        self._failed = error

    def _put_job(self, jobs: JobQueue, job: StoreJob) -> None:
        if self._closed:
            raise StoreUnavailable("the store is closed")
        try:
            jobs.put_nowait(job)
        except queue.Full:
            raise StoreUnavailable(f"the store has stalled: {MOST_WAITING_JOBS} operations wait for it") from None

    async def _run_in_thread(self, jobs: JobQueue, job: StoreJob) -> Any:
        job.asker = asyncio.get_running_loop().create_future()
        self._put_job(jobs, job)
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                return await job.asker
        except TimeoutError:
            raise StoreUnavailable(f"the store did not answer within {WAIT_SECONDS:.0f} s") from None


def _serve_queue(jobs: JobQueue, connection: StoreConnection) -> None:
    """Runs the jobs of one queue until the store is closed: the main function of a store thread."""
    while (batch := take_batch(jobs)) is not None:
        connection.run_batch(wanted := [job for job in batch if job.is_wanted])
        for _ in batch:
            jobs.task_done()
        answer_askers(wanted)
    connection.discard()
