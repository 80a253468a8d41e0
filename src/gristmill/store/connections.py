"""Connections to the database. Batches of jobs are read, or written in one transaction each."""

from collections.abc import Callable, Sequence
from typing import Any

from gristmill.errors import StoreUnavailable
from gristmill.store.base import Statement
from gristmill.store.driver import Driver, StoreStatements
from gristmill.store.store_jobs import StoreJob


class StoreConnection:
    """A connection that is opened when it is needed, and opened again when it was lost."""

    def __init__(self, driver: Driver, connect: Callable[[], Any] | None = None) -> None:
        self._driver, self._connect = driver, connect or driver.connect
        self._connection: Any = None

    def run_batch(self, batch: list[StoreJob]) -> None:
        """Runs ``batch``; afterwards each of its jobs has a result or an error."""
        raise NotImplementedError

    def discard(self) -> None:
        """Closes the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except Exception:  # noqa: S110 - it is broken already
                pass

    def _ensure_connection(self, first: Sequence[str]) -> None:
        """Ensures a connection that answers, and runs ``first`` on it; a lost connection is replaced.

        A connection is replaced only here: no job of the batch has been sent yet, so no job can be executed twice.
        """
        if self._connection is not None:
            try:
                self._run_statements(first)
                return
            except self._driver.failures as error:
                if not self._driver.is_lost(self._connection, error):
                    raise
                self.discard()
        self._connection = self._connect()
        self._run_statements(first)

    def _run_statements(self, statements: Sequence[str]) -> None:
        for statement in statements:
            StoreStatements(self._connection, self._driver).run(statement)

    def _fail_batch(self, batch: list[StoreJob], error: Exception) -> None:
        """Sets ``error`` for the jobs that are not done, and closes the connection so that the next batch opens a new one."""
        self.discard()
        for job in batch:
            job.error = job.error if job.is_done else job.error or self._translate_error(error)

    def _translate_error(self, error: Exception) -> Exception:
        if isinstance(error, (*self._driver.failures, OSError)):
            return StoreUnavailable(f"the store refused: {self._driver.describe_error(error)}")
        return error


class StoreReader(StoreConnection):
    """A connection for queries; each job succeeds or fails by itself."""

    def run_batch(self, batch: list[StoreJob]) -> None:
        """Runs the queries of ``batch``."""
        try:
            self._ensure_connection(self._driver.ping_statements())
            for job in batch:
                self._run_query(job)
        except Exception as error:
            self._fail_batch(batch, error)

    def _run_query(self, job: StoreJob) -> None:
        try:
            _run_jobs(StoreStatements(self._connection, self._driver), [job])
            job.is_done = True
        except Exception as error:  # passed on to the asker of the job
            job.error = self._translate_error(error)
            if self._driver.is_lost(self._connection, error):
                raise


class StoreWriter(StoreConnection):
    """A connection for writes. It writes a batch in one transaction; a job that fails undoes only its own part."""

    def run_batch(self, batch: list[StoreJob]) -> None:
        """Runs ``batch`` in one transaction and commits it."""
        try:
            self._ensure_connection(self._driver.begin_statements())
        except Exception as error:
            self._fail_batch(batch, error)
        else:
            self.commit(batch)

    def begin(self) -> bool:
        """Begins a transaction if that is possible at once. If not, the writer thread does the job and reports the reason."""
        try:
            self._ensure_connection(self._driver.begin_statements())
        except (*self._driver.failures, OSError):
            return False
        return True

    def commit(self, batch: list[StoreJob]) -> None:
        """Runs ``batch`` in the transaction that has begun, and commits it."""
        statements = StoreStatements(self._connection, self._driver)
        try:
            try:
                _run_jobs(statements, batch)
            except Exception as error:
                if self._driver.is_lost(self._connection, error):
                    raise
                self._restart_transaction(statements)
                self._run_each_job(statements, batch)
            self._run_commit(statements)
        except Exception as error:
            self._roll_back(statements)
            self._fail_batch(batch, error)

    def _restart_transaction(self, statements: StoreStatements) -> None:
        """Undoes the transaction and begins a new one: one job failed, and it is not known which.

        The jobs are then run one by one.
        """
        self._roll_back(statements)
        self._run_statements(self._driver.begin_statements())

    def _run_each_job(self, statements: StoreStatements, batch: list[StoreJob]) -> None:
        for job in batch:
            statements.run("SAVEPOINT job")
            try:
                _run_jobs(statements, [job])
            except Exception as error:  # only this job is affected, whichever error it is
                self._undo_job(statements, error)
                job.error = self._translate_error(error)
            statements.run("RELEASE SAVEPOINT job")

    def _undo_job(self, statements: StoreStatements, error: Exception) -> None:
        """Undoes the part of one job.

        If a full disk or a lost connection has undone the whole batch, raises the reason of that.
        """
        try:
            statements.run("ROLLBACK TO SAVEPOINT job")
        except self._driver.failures:
            if isinstance(error, self._driver.failures):
                raise error from None
            raise

    def _run_commit(self, statements: StoreStatements) -> None:
        try:
            statements.run("COMMIT")
        except self._driver.failures as error:
            if self._driver.is_lost(self._connection, error):
                # A second attempt could write it twice; only the asker can find out whether it was written.
                raise StoreUnavailable(
                    "the connection to the store was lost during a commit: what was written may or may not be there"
                ) from None
            raise

    def _roll_back(self, statements: StoreStatements) -> None:
        try:
            statements.run("ROLLBACK")
        except self._driver.failures:
            pass  # the connection is gone, or a full disk has undone the transaction already


def _run_jobs(statements: StoreStatements, batch: list[StoreJob]) -> None:
    """Runs the jobs in their order; statements of neighbouring jobs that only write are written together."""
    waiting: list[Statement] = []
    for job in batch:
        if job.work is None:
            waiting += job.statements
            continue
        statements.run_all(waiting)
        waiting.clear()
        job.result = job.work(statements)
    statements.run_all(waiting)
