"""What happened goes on record: one record per execution and one per call in it, refusals and failures included."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import field, replace
from types import TracebackType
from typing import Any

import msgspec

from gristmill.errors import Error, Refused, StoreUnavailable
from gristmill.ledger.anomalies import Anomalies
from gristmill.ledger.audit.audit import Audit
from gristmill.ledger.audit.audit_entries import INTERRUPTED, AuditRecord, Kind
from gristmill.ledger.kept_outcomes import Outcomes
from gristmill.ledger.metrics import NoMetrics
from gristmill.ledger.record_text import sha256
from gristmill.ledger.tokens.spent_records import CallRecord
from gristmill.ledger.tokens.spent_records import ExecutionRecord as Counted
from gristmill.ledger.trace import Ended, NoTraces
from gristmill.model import Handler, Json, Outcome, ToolCall, ToolResult
from gristmill.runtime.calls.answer_discovery import SERVER as RESERVED
from gristmill.runtime.execution.execution_state import Run
from gristmill.runtime.recording.token_accounts import Accounts, MadeCall, MadeExecution, returned_text
from gristmill.values import dataclass

BEGUN = "begun"
"""Among the details of an execution that failed for our part: its program may have run, so it is not to be run anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorder:
    """Opens the record of an execution. With ``wait`` an answer goes back only when its record is kept."""

    audit: Audit
    note: Callable[[Run, str], None]
    """Keeps what is needed to resume a run."""
    accounts: Accounts
    metrics: NoMetrics
    anomalies: Anomalies
    outcomes: Outcomes
    traces: NoTraces = field(default_factory=NoTraces)
    wait: bool = False
    clock: Callable[[], float] = time.time

    def execution(self, run: Run) -> "ExecutionRecord":
        """The record of one execution, to be entered."""
        return ExecutionRecord(self, run, self.clock())

    def noticed(self, record: AuditRecord) -> None:
        """Put something on record that belongs to no execution, and count it."""
        self.metrics.noticed(record.rule or record.kind)
        self.audit.record(record)


@dataclass(slots=True)
class ExecutionRecord:
    """An execution under way; left without ``finish`` it was broken off, and the record says so."""

    recorder: Recorder
    run: Run
    began: float
    finished: bool = False
    bytes: int = 0
    made: list[MadeCall] = field(default_factory=list[MadeCall])
    _span: ExitStack = field(default_factory=ExitStack)
    _ended: Ended | None = None
    within: Any = None
    """The span, for calls: a session's are read by a task that is older than the execution."""

    async def finish(self, run: Run, outcome: Outcome) -> Outcome:
        """Record how it ended, and what it cost."""
        self.run, self.finished = run, True
        self._record(outcome.status, outcome.error, outcome.execution_time_ms, rule=outcome.error_type)
        if self.made or outcome.status not in ("ok", "refused"):
            self.recorder.note(run, outcome.status)
        outcome = replace(outcome, tokens_saved=self.recorder.accounts.add(self._spent(run, outcome)))
        self.recorder.metrics.executed(
            outcome.status,
            seconds=outcome.execution_time_ms / 1000,
            memory_mb=outcome.memory_mb,
            tokens_saved=outcome.tokens_saved,
        )
        self._count_masks(run)
        if self._ended is not None:
            self._ended(outcome.status)
        self._notice(outcome)
        if run.execution.promised:
            await self.recorder.outcomes.keep(outcome, tenant=run.execution.tenant, caller=run.execution.caller)
        if self.recorder.wait:
            await self.recorder.audit.flush()
        return outcome

    def call(self, call: ToolCall, ending: "Ending") -> None:
        """Record one call of it."""
        self.bytes += len(ending.result)
        tool = self.run.names.get(call.id, call.tool)
        decision, server = self.run.decisions.get(call.id), tool.partition(".")[0]
        self._put(
            "call",
            f"{call.execution}/{call.id}",
            tool=tool,
            arguments=self.run.shown(call),
            decision=decision.effect if decision else None,
            rule=ending.rule or (decision.rule if decision else None),
            status=ending.status,
            error=self.run.show(ending.error) if ending.error else None,
            bytes=len(ending.result),
            ms=round(ending.seconds * 1000, 3),
        )
        self.recorder.metrics.called(server, ending.status, seconds=ending.seconds)
        if ending.status == "refused.call":
            self._security(call, ending.rule or "refused.call", {"tool": tool})
        self._habits(call, tool, ending)
        if server != RESERVED and ending.status != "planned":
            self.made.append(_made(call, tool, ending, len(self.made), self.recorder.clock()))

    def _count_masks(self, run: Run) -> None:
        """A redactor may belong to several executions at once: what one of them has counted is not there for the next."""
        if run.redactor is None:
            return
        counted, run.redactor.count = run.redactor.count, Counter()
        for kind, count in counted.items():
            self.recorder.metrics.masked(kind, count)

    def _habits(self, call: ToolCall, tool: str, ending: "Ending") -> None:
        """What is unusual for this session becomes a security record; nothing is refused for it."""
        if call.session is None:
            return
        found = self.recorder.anomalies.observe(
            f"{call.tenant}/{call.session}",
            tool,
            at=self.recorder.clock(),
            is_error=ending.status != "ok",
            size=len(ending.result),
        )
        for anomaly in found:
            self._security(call, f"anomaly.{anomaly.kind}", {"tool": tool, "value": anomaly.value, "usual": anomaly.usual})

    def _notice(self, outcome: Outcome) -> None:
        """Refused code and limits that were reached are security records too."""
        rule = f"limit.{outcome.limit}" if outcome.limit else outcome.error_type if outcome.status == "refused" else None
        if rule is not None:
            self._security(None, rule, {})

    def _security(self, call: ToolCall | None, rule: str, details: dict[str, Json]) -> None:
        self.recorder.metrics.noticed(rule.partition(" ")[0])
        self._put("security", f"{self.run.execution.id}/{call.id if call else 0}/{rule}", rule=rule, details=details)

    def _spent(self, run: Run, outcome: Outcome) -> MadeExecution:
        execution = run.execution
        returned = returned_text(outcome)
        record = Counted(
            execution=execution.id,
            session=execution.session,
            caller=execution.caller,
            at=self.began,
            ms=outcome.execution_time_ms,
            status=outcome.status,
            code_bytes=len(execution.code),
            returned_bytes=len(returned),
        )
        return MadeExecution(
            tenant=execution.tenant, record=record, code=execution.code, returned=returned, calls=tuple(self.made)
        )

    def _record(
        self, status: str, error: str | None, ms: float, rule: str | None = None, details: dict[str, Json] | None = None
    ) -> None:
        execution, has_masks = self.run.execution, self.run.redactor is not None
        self._put(
            "execution",
            execution.id,
            # Not what was only asked for: that may be another tenant's, and its record has no place among those.
            parent=execution.resume if self.run.root != execution.id else None,
            time=self.began,
            # Without masks nothing readable is kept of it, only what tells it from other programs.
            code=self.run.show(execution.code) if has_masks else None,
            code_hash=None if has_masks else sha256(execution.code),
            status=status,
            error=self.run.show(error) if error else None,
            rule=rule,
            bytes=self.bytes,
            ms=ms,
            details=details or {},
        )

    def _put(self, kind: Kind, name: str, **fields: Any) -> None:
        """Put something on record that happened in this execution, now unless ``fields`` say otherwise."""
        execution = self.run.execution
        fields.setdefault("parent", execution.id)
        fields.setdefault("time", self.recorder.clock())
        tenant, session, caller = execution.tenant, execution.session, execution.caller
        self.recorder.audit.record(AuditRecord(kind=kind, id=name, tenant=tenant, session=session, caller=caller, **fields))

    def __enter__(self) -> "ExecutionRecord":
        execution = self.run.execution
        self._ended = self._span.enter_context(self.recorder.traces.execution(execution.id, execution.session))
        self.within = self.recorder.traces.here()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._span.__exit__(kind, error, trace)
        if not self.finished:
            status = error.code if isinstance(error, Error) else INTERRUPTED if INTERRUPTED in _words(error) else "cancelled"
            ms, told = (self.recorder.clock() - self.began) * 1000, str(error) if isinstance(error, Error) else None
            self._record(status, told, ms, details={BEGUN: True} if self._may_have_run(error) else None)
            self.recorder.metrics.broken_off(status)
            if self.made:
                self.recorder.note(self.run, "crashed")

    def _may_have_run(self, error: BaseException | None) -> bool:
        # Once it is taken in the store may fail before the program runs or after; a sandbox that cannot be had, only before.
        return bool(self.made) or (isinstance(error, StoreUnavailable) and self.run.redactor is not None)


def _words(error: BaseException | None) -> tuple[object, ...]:
    """Whoever cancels may say why; what else breaks an execution off has nothing to say here."""
    return error.args if isinstance(error, asyncio.CancelledError) else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a call ended: its status, its answer as text, why it failed and by which rule, how long it took."""

    status: str
    result: str = ""
    error: str | None = None
    rule: str | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Record:
    """A layer, the outermost: whatever becomes of a call is on record."""

    record: ExecutionRecord

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Pass the call on and record what came of it."""
        began, ending = time.perf_counter(), Ending(status="cancelled")
        try:
            with self.record.recorder.traces.call(call.tool, call.id, self.record.within) as ended:
                result = await proceed(call)
                if result.is_error:
                    ended("tool_error")
            status = "planned" if result.planned is not None else "failed" if result.is_error else "ok"
            ending = Ending(status=status, result=_text(result), seconds=time.perf_counter() - began)
            return result
        except Error as error:
            rule = error.rule if isinstance(error, Refused) else None
            ending = Ending(status=error.code, error=error.message, rule=rule, seconds=time.perf_counter() - began)
            raise
        finally:
            self.record.call(call, ending)


def _made(call: ToolCall, tool: str, ending: Ending, position: int, at: float) -> MadeCall:
    arguments = _encoded(dict(call.arguments))
    record = CallRecord(
        execution=call.execution,
        position=position,
        tool=tool,
        server=tool.partition(".")[0],
        session=call.session,
        caller=call.caller,
        at=at,
        ms=ending.seconds * 1000,
        status=ending.status,
        argument_bytes=len(arguments),
        result_bytes=len(ending.result),
    )
    return MadeCall(record=record, arguments=arguments, result=ending.result)


def _text(result: ToolResult) -> str:
    return "" if result.planned is not None else _encoded(result.value)


def _encoded(value: Json) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        return ""
