"""What happened goes on record: one record per execution and one per call in it, refusals and failures included."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType

import msgspec

from gristmill.errors import Error
from gristmill.ledger.audit import Audit
from gristmill.ledger.entries import AuditRecord
from gristmill.model import Handler, Outcome, ToolCall, ToolResult
from gristmill.runtime.run import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorder:
    """Opens the record of an execution. With ``wait`` an answer goes back only when its record is kept."""

    audit: Audit
    note: Callable[[Run, str], None]
    """Keeps what is needed to resume a run."""
    wait: bool = False
    clock: Callable[[], float] = time.time

    def execution(self, run: Run) -> "ExecutionRecord":
        """The record of one execution, to be entered."""
        return ExecutionRecord(self, run, self.clock())


@dataclass(slots=True)
class ExecutionRecord:
    """An execution under way; left without ``finish`` it was broken off, and the record says so."""

    recorder: Recorder
    run: Run
    began: float
    finished: bool = False
    calls: int = 0
    bytes: int = field(default=0)

    async def finish(self, run: Run, outcome: Outcome) -> Outcome:
        """Record how it ended."""
        self.run, self.finished = run, True
        self._record(outcome.status, outcome.error, outcome.execution_time_ms, rule=outcome.error_type)
        if self.calls or outcome.status not in ("ok", "refused"):
            self.recorder.note(run, outcome.status)
        if self.recorder.wait:
            await self.recorder.audit.flush()
        return outcome

    def call(self, call: ToolCall, status: str, error: str | None, size: int, seconds: float) -> None:
        """Record one call of it."""
        self.calls += 1
        self.bytes += size
        decision = self.run.decisions.get(call.id)
        self.recorder.audit.record(
            AuditRecord(
                kind="call",
                id=f"{call.execution}/{call.id}",
                parent=call.execution,
                time=self.recorder.clock(),
                session=call.session,
                caller=call.caller,
                tool=self.run.names.get(call.id, call.tool),
                arguments=self.run.show(dict(call.arguments)),
                decision=decision.effect if decision else None,
                rule=decision.rule if decision else None,
                status=status,
                error=self.run.show(error) if error else None,
                bytes=size,
                ms=round(seconds * 1000, 3),
            )
        )

    def _record(self, status: str, error: str | None, ms: float, rule: str | None = None) -> None:
        execution = self.run.execution
        self.recorder.audit.record(
            AuditRecord(
                kind="execution",
                id=execution.id,
                parent=execution.resume,
                time=self.began,
                session=execution.session,
                caller=execution.caller,
                code=self.run.show(execution.code),
                status=status,
                error=error,
                rule=rule,
                bytes=self.bytes,
                ms=ms,
            )
        )

    def __enter__(self) -> "ExecutionRecord":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if not self.finished:
            status = error.code if isinstance(error, Error) else "cancelled"
            self._record(status, str(error) if isinstance(error, Error) else None, (self.recorder.clock() - self.began) * 1000)
            if self.calls:
                self.recorder.note(self.run, "crashed")


@dataclass(frozen=True, slots=True)
class Record:
    """A layer, the outermost: whatever becomes of a call is on record."""

    record: ExecutionRecord

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Pass the call on and record what came of it."""
        began, status, reason, size = time.perf_counter(), "cancelled", None, 0
        try:
            result = await proceed(call)
            status = "planned" if result.planned is not None else "failed" if result.is_error else "ok"
            size = _size(result)
            return result
        except Error as error:
            status, reason = error.code, error.message
            raise
        finally:
            self.record.call(call, status, reason, size, time.perf_counter() - began)


def _size(result: ToolResult) -> int:
    try:
        return len(msgspec.json.encode(result.value))
    except (TypeError, ValueError, RecursionError):
        return 0
