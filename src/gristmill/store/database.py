"""A store over any DB-API driver: one thread writes, in the order of arrival and many at a time; another reads."""

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar, cast

from gristmill.errors import StoreUnavailable
from gristmill.store.base import Row, Statement, Transaction, Value
from gristmill.values import dataclass

T = TypeVar("T")

BATCH = 256
"""Writes that are committed together: a commit costs more than a row."""
WAITING = 20_000
"""Writes that may wait; past that the store has stalled, and saying so beats filling the memory."""
LATER_SECONDS = 0.02
"""How long ``write_later`` gathers."""
SECONDS = 30.0
"""How long anybody waits for the store."""


class Driver:
    """What differs between databases. Subclasses name the driver; everything runs in the store's threads."""

    failures: tuple[type[Exception], ...] = ()

    def connect(self) -> Any:
        """A connection in autocommit mode, so that transactions are ours to begin."""
        raise NotImplementedError

    def begin(self) -> tuple[str, ...]:
        """The statements that make this connection the one writer."""
        raise NotImplementedError

    def is_lost(self, connection: Any, error: Exception) -> bool:  # noqa: ARG002 - a file is never lost
        """Whether the connection is gone, so that a new one may do what this one could not."""
        return False

    def ping(self) -> tuple[str, ...]:
        """What to ask before a read, where a connection may have been lost since the last."""
        return ()

    def translate(self, sql: str) -> str:
        """``?`` as this driver spells it."""
        return sql

    def reason(self, error: Exception) -> str:
        """One line without secrets."""
        return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


@dataclass(slots=True)
class _Job:
    work: Callable[[Transaction], Any]
    done: "Future[Any]"


class _Statements:
    """A transaction on a connection of a driver."""

    def __init__(self, connection: Any, driver: Driver) -> None:
        self._connection, self._driver = connection, driver

    def run(self, sql: str, *values: Value) -> list[Row]:
        """Run one statement; its rows, if it has any."""
        cursor = self._connection.cursor()
        try:
            cursor.execute(self._driver.translate(sql), values)
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []
        finally:
            cursor.close()


class Database:
    """A ``Store``. Open it with ``open_store``."""

    def __init__(self, driver: Driver, tables: Sequence[str], *, read_only: bool = False) -> None:
        self._driver, self._tables, self._read_only = driver, tables, read_only
        self._writes: queue.Queue[_Job | None] = queue.Queue(WAITING)
        self._reads: queue.Queue[_Job | None] = queue.Queue(WAITING)
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
        return await self._wait(self._put(self._reads, lambda transaction: transaction.run(sql, *values)))

    async def write(self, *statements: Statement) -> None:
        """Run ``statements`` in one transaction; returns when they are committed.

        Raises:
            StoreUnavailable: nothing of them is, or (the message says so) the connection was lost during the commit.
        """
        await self._wait(self._put(self._writes, _all(statements)))

    async def change(self, work: Callable[[Transaction], T]) -> T:
        """Run ``work`` in one transaction, alone among writers; it must not wait.

        Raises:
            StoreUnavailable: nothing was changed, or (the message says so) the connection was lost during the commit.
        """
        return await self._wait(self._put(self._writes, work))

    def write_soon(self, *statements: Statement) -> None:
        """As ``write``, without waiting; a failure is raised by the next ``flush``."""
        self._keep_order()
        self._put(self._writes, _all(statements)).add_done_callback(self._note)

    def write_later(self, *statements: Statement) -> None:
        """As ``write_soon``, a moment later and together with others: for what may be lost with the process."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # in a thread, where nobody calls back
            self.write_soon(*statements)
            return
        self._later += statements
        if self._timer is None:
            self._home = threading.get_ident()
            self._timer = loop.call_later(LATER_SECONDS, self._hand_over)

    def _keep_order(self) -> None:
        """What was to be written earlier is: an answer must not be kept without the masks that are in it."""
        if self._timer is not None and threading.get_ident() == self._home:
            self._hand_over()

    def _hand_over(self) -> None:
        """What may come later comes now: before anything that is asked for meanwhile."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._later:
            statements, self._later = self._later, []
            self.write_soon(*statements)

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

    def _note(self, done: "Future[Any]") -> None:
        self._failed = cast("Exception | None", done.exception()) or self._failed

    def _put(self, jobs: "queue.Queue[_Job | None]", work: Callable[[Transaction], Any]) -> "Future[Any]":
        if self._closed:
            raise StoreUnavailable("the store is closed")
        job = _Job(work, Future())
        try:
            jobs.put_nowait(job)
        except queue.Full:
            raise StoreUnavailable(f"the store has stalled: {WAITING} operations wait for it") from None
        return job.done

    async def _wait(self, done: "Future[T]") -> T:
        try:
            async with asyncio.timeout(SECONDS):
                return await asyncio.wrap_future(done)
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

    def _serve(self, jobs: "queue.Queue[_Job | None]", writes: bool) -> None:
        connection: Any = None
        while (batch := _next_batch(jobs)) is not None:
            # An asker who gave up before his turn wants nothing done.
            batch = [job for job in batch if job.done.set_running_or_notify_cancel()]
            try:
                connection = self._ready(connection, writes)
                if writes:
                    self._commit(connection, batch)
                else:
                    self._answer(connection, batch)
            except Exception as error:  # whatever it was, this thread must go on
                connection = _discard(connection)
                self._fail(batch, error)
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
            _Statements(connection, self._driver).run(statement)

    def _commit(self, connection: Any, batch: list[_Job]) -> None:
        """End the transaction of the whole batch; a job that fails takes back its own part only."""
        statements = _Statements(connection, self._driver)
        try:
            results = self._work(statements, batch)
            self._run_commit(connection, statements)
        except Exception:
            try:
                statements.run("ROLLBACK")
            except self._driver.failures:
                pass  # the connection is gone, and the transaction with it
            raise
        for job, result in results:
            job.done.set_result(result)

    def _work(self, statements: _Statements, batch: list[_Job]) -> list[tuple[_Job, Any]]:
        results: list[tuple[_Job, Any]] = []
        for job in batch:
            statements.run("SAVEPOINT job")
            try:
                results.append((job, job.work(statements)))
            except Exception as error:  # whatever it was, only this job is affected
                self._take_back(statements, error)
                job.done.set_exception(self._translated(error))
            statements.run("RELEASE SAVEPOINT job")
        return results

    def _take_back(self, statements: _Statements, error: Exception) -> None:
        """Undo the part of one job. A full disk or a lost connection has undone all of the batch: then its reason counts."""
        try:
            statements.run("ROLLBACK TO SAVEPOINT job")
        except self._driver.failures:
            if isinstance(error, self._driver.failures):
                raise error from None
            raise

    def _run_commit(self, connection: Any, statements: _Statements) -> None:
        try:
            statements.run("COMMIT")
        except self._driver.failures as error:
            if self._driver.is_lost(connection, error):
                # Asking again could do it twice; only whoever asked can find out whether it is there.
                raise StoreUnavailable(
                    "the connection to the store was lost during a commit: what was written may or may not be there"
                ) from None
            raise

    def _answer(self, connection: Any, batch: list[_Job]) -> None:
        for job in batch:
            try:
                job.done.set_result(job.work(_Statements(connection, self._driver)))
            except Exception as error:  # the asker gets it
                job.done.set_exception(self._translated(error))
                if self._driver.is_lost(connection, error):
                    raise

    def _translated(self, error: Exception) -> Exception:
        if isinstance(error, (*self._driver.failures, OSError)):
            return StoreUnavailable(f"the store refused: {self._driver.reason(error)}")
        return error

    def _fail(self, batch: list[_Job], error: Exception) -> None:
        for job in batch:
            if not job.done.done():
                job.done.set_exception(self._translated(error))


def _all(statements: Sequence[Statement]) -> Callable[[Transaction], None]:
    def work(transaction: Transaction) -> None:
        for sql, values in statements:
            transaction.run(sql, *values)

    return work


def _next_batch(jobs: "queue.Queue[_Job | None]") -> list[_Job] | None:
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


def _discard(connection: Any) -> None:
    if connection is not None:
        try:
            connection.close()
        except Exception:  # noqa: S110 - it is broken already
            pass
