"""A connection to the database, and what is done by it: batches are read, or written in one transaction each."""

from collections.abc import Callable, Sequence
from typing import Any

from gristmill.errors import StoreUnavailable
from gristmill.store.base import Statement
from gristmill.store.driver import Driver, Statements
from gristmill.store.store_jobs import Job


class Line:
    """A connection that is made when it is needed, and made anew when it was lost."""

    def __init__(self, driver: Driver, connect: Callable[[], Any] | None = None) -> None:
        self._driver, self._connect = driver, connect or driver.connect
        self._connection: Any = None

    def do(self, batch: list[Job]) -> None:
        """Do ``batch``; each of its jobs has its result or its error then."""
        raise NotImplementedError

    def discard(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except Exception:  # noqa: S110 - it is broken already
                pass

    def _ready(self, first: Sequence[str]) -> None:
        """Have a connection that answers, and run ``first`` on it; a lost one is replaced.

        Only here: nothing of the batch has been sent yet, so nothing can be done twice.
        """
        if self._connection is not None:
            try:
                self._run_all(first)
                return
            except self._driver.failures as error:
                if not self._driver.is_lost(self._connection, error):
                    raise
                self.discard()
        self._connection = self._connect()
        self._run_all(first)

    def _run_all(self, statements: Sequence[str]) -> None:
        for statement in statements:
            Statements(self._connection, self._driver).run(statement)

    def _fail(self, batch: list[Job], error: Exception) -> None:
        """Whatever it was, the next batch begins anew."""
        self.discard()
        for job in batch:
            job.error = job.error if job.is_done else job.error or self._translated(error)

    def _translated(self, error: Exception) -> Exception:
        if isinstance(error, (*self._driver.failures, OSError)):
            return StoreUnavailable(f"the store refused: {self._driver.reason(error)}")
        return error


class Reader(Line):
    """Looks, each job for itself."""

    def do(self, batch: list[Job]) -> None:
        """Do ``batch``."""
        try:
            self._ready(self._driver.ping())
            for job in batch:
                self._look(job)
        except Exception as error:
            self._fail(batch, error)

    def _look(self, job: Job) -> None:
        try:
            _do_all(Statements(self._connection, self._driver), [job])
            job.is_done = True
        except Exception as error:  # the asker gets it
            job.error = self._translated(error)
            if self._driver.is_lost(self._connection, error):
                raise


class Writer(Line):
    """Writes a batch in one transaction, in which a job that fails takes back its own part only."""

    def do(self, batch: list[Job]) -> None:
        """Do ``batch`` and commit it."""
        try:
            self._ready(self._driver.begin())
        except Exception as error:
            self._fail(batch, error)
        else:
            self.commit(batch)

    def begin(self) -> bool:
        """Begin a transaction, if that can be done at once; where it cannot, a patient writer finds out why."""
        try:
            self._ready(self._driver.begin())
        except (*self._driver.failures, OSError):
            return False
        return True

    def commit(self, batch: list[Job]) -> None:
        """Do ``batch`` in the transaction that has begun, and end it."""
        statements = Statements(self._connection, self._driver)
        try:
            try:
                _do_all(statements, batch)
            except Exception as error:
                if self._driver.is_lost(self._connection, error):
                    raise
                self._start_again(statements)
                self._do_each(statements, batch)
            self._run_commit(statements)
        except Exception as error:
            self._roll_back(statements)
            self._fail(batch, error)

    def _start_again(self, statements: Statements) -> None:
        """Somebody's part failed, and nobody knows whose: all of it is undone and done again with care."""
        self._roll_back(statements)
        self._run_all(self._driver.begin())

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

    def _run_commit(self, statements: Statements) -> None:
        try:
            statements.run("COMMIT")
        except self._driver.failures as error:
            if self._driver.is_lost(self._connection, error):
                # Asking again could do it twice; only whoever asked can find out whether it is there.
                raise StoreUnavailable(
                    "the connection to the store was lost during a commit: what was written may or may not be there"
                ) from None
            raise

    def _roll_back(self, statements: Statements) -> None:
        try:
            statements.run("ROLLBACK")
        except self._driver.failures:
            pass  # the connection is gone, or a full disk has undone it already, and the transaction with it


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
