"""A store over any DB-API driver: one thread writes, in the order of arrival and many at a time; another reads."""

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from gristmill.errors import StoreUnavailable
from gristmill.store.base import Row, Statement, Transaction, Value
from gristmill.store.driver import Driver, Statements
from gristmill.store.jobs import Job, Jobs, answer, next_batch

T = TypeVar("T")

WAITING = 20_000
"""Writes that may wait; past that the store has stalled, and saying so beats filling the memory."""
SOON_SECONDS, LATER_SECONDS = 0.005, 0.05
"""How long ``write_soon`` and ``write_later`` gather: a commit costs more than a row."""
SECONDS = 30.0
"""How long anybody waits for the store."""


class Database:
    """A ``Store``. Open it with ``open_store``."""

    def __init__(self, driver: Driver, tables: Sequence[str], *, read_only: bool = False) -> None:
        self._driver, self._tables, self._read_only = driver, tables, read_only
        self._writes: Jobs = queue.Queue(WAITING)
        self._reads: Jobs = queue.Queue(WAITING)
        self._failed: Exception | None = None
        self._closed = False
        self._later: list[Statement] = []
        self._timer: asyncio.TimerHandle | None = None
        self._home = 0  # the thread of the loop whose timer that is
        self._threads = (
            threading.Thread(target=self._serve, args=(self._writes, True), name="gristmill-store-write", daemon=True),
            threading.Thread(target=self._serve, args=(self._reads, False), name="gristmill-store-read", daemon=True),
        )

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

    async def change(self, work: Callable[[Transaction], T]) -> T:
        """Run ``work`` in one transaction, alone among writers; it must not wait, and may be run anew after a rollback.

        Raises:
            StoreUnavailable: nothing was changed, or (the message says so) the connection was lost during the commit.
        """
        self._keep_order()
        return await self._ask(self._writes, Job(work=work))

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
        if self._timer is not None and threading.get_ident() == self._home:
            self._hand_over()

    def _hand_over(self) -> None:
        """What was gathered comes now: before anything that is asked for meanwhile."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._later:
            statements, self._later = self._later, []
            try:
                self._put(self._writes, Job(statements, fail=self._note))
            except StoreUnavailable as error:
                self._note(error)  # for whoever flushes: nobody waits here

    async def flush(self) -> None:
        """Return when everything handed to ``write_soon`` and ``write_later`` is committed.

        Raises:
            StoreUnavailable: some of it could not be.
        """
        self._hand_over()
        await self.write()
        if failed := self._failed:
            self._failed = None
            raise failed

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

    def _serve(self, jobs: Jobs, writes: bool) -> None:
        connection: Any = None
        while (batch := next_batch(jobs)) is not None:
            try:
                connection = self._ready(connection, writes)
                if writes:
                    self._commit(connection, batch)
                else:
                    self._look(connection, batch)
            except Exception as error:  # whatever it was, this thread must go on
                connection = _discard(connection)
                for job in batch:
                    job.error = job.error if job.is_done else job.error or self._translated(error)
            answer(batch)
        _discard(connection)

    def _ready(self, connection: Any, writes: bool) -> Any:
        """A connection that answers, with a transaction begun if it is to write; a lost one is replaced.

        Only here: nothing of the batch has been sent yet, so nothing can be done twice.
        """
        first = self._driver.begin() if writes else self._driver.ping()
        if connection is not None:
            try:
                self._run_all(connection, first)
                return connection
            except self._driver.failures as error:
                if not self._driver.is_lost(connection, error):
                    raise
                _discard(connection)
        connection = self._driver.connect()
        try:
            self._run_all(connection, first)
        except BaseException:
            _discard(connection)
            raise
        return connection

    def _run_all(self, connection: Any, statements: Sequence[str]) -> None:
        for statement in statements:
            Statements(connection, self._driver).run(statement)

    def _commit(self, connection: Any, batch: list[Job]) -> None:
        """End the transaction of the whole batch; a job that fails takes back its own part only."""
        statements = Statements(connection, self._driver)
        try:
            try:
                _do_all(statements, batch)
            except Exception as error:
                if self._driver.is_lost(connection, error):
                    raise
                self._start_again(connection, statements)
                self._do_each(statements, batch)
            self._run_commit(connection, statements)
        except Exception:
            _roll_back(statements, self._driver)
            raise

    def _start_again(self, connection: Any, statements: Statements) -> None:
        """Somebody's part failed, and nobody knows whose: all of it is undone and done again with care."""
        _roll_back(statements, self._driver)
        self._run_all(connection, self._driver.begin())

    def _do_each(self, statements: Statements, batch: list[Job]) -> None:
        for job in batch:
            statements.run("SAVEPOINT job")
            try:
                _do_all(statements, [job])
            except Exception as error:  # whatever it was, only this job is affected
                self._take_back(statements, error)
                job.error = self._translated(error)
            statements.run("RELEASE SAVEPOINT job")

    def _take_back(self, statements: Statements, error: Exception) -> None:
        """Undo the part of one job. A full disk or a lost connection has undone all of the batch: then its reason counts."""
        try:
            statements.run("ROLLBACK TO SAVEPOINT job")
        except self._driver.failures:
            if isinstance(error, self._driver.failures):
                raise error from None
            raise

    def _run_commit(self, connection: Any, statements: Statements) -> None:
        try:
            statements.run("COMMIT")
        except self._driver.failures as error:
            if self._driver.is_lost(connection, error):
                # Asking again could do it twice; only whoever asked can find out whether it is there.
                raise StoreUnavailable(
                    "the connection to the store was lost during a commit: what was written may or may not be there"
                ) from None
            raise

    def _look(self, connection: Any, batch: list[Job]) -> None:
        for job in batch:
            try:
                _do_all(Statements(connection, self._driver), [job])
                job.is_done = True
            except Exception as error:  # the asker gets it
                job.error = self._translated(error)
                if self._driver.is_lost(connection, error):
                    raise

    def _translated(self, error: Exception) -> Exception:
        if isinstance(error, (*self._driver.failures, OSError)):
            return StoreUnavailable(f"the store refused: {self._driver.reason(error)}")
        return error


def _do_all(statements: Statements, batch: list[Job]) -> None:
    """Do every job in its turn; what several of them merely write is written together."""
    waiting: list[Statement] = []
    for job in batch:
        if job.work is None:
            waiting += job.statements
            continue
        statements.run_all(waiting)
        waiting.clear()
        job.result = job.work(statements)
    statements.run_all(waiting)


def _roll_back(statements: Statements, driver: Driver) -> None:
    try:
        statements.run("ROLLBACK")
    except driver.failures:
        pass  # the connection is gone, or a full disk has undone it already, and the transaction with it


def _discard(connection: Any) -> None:
    if connection is not None:
        try:
            connection.close()
        except Exception:  # noqa: S110 - it is broken already
            pass
