"""Records what happened: one record per execution and one per call in it, refusals and failures included."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import Any

import msgspec
from msgspec import Struct, field

from gristmill.errors import Error, OutcomeNotStored, Refused, StoreUnavailable
from gristmill.ledger.anomalies import Anomalies
from gristmill.ledger.audit.audit import Audit
from gristmill.ledger.audit.audit_entries import BEGUN, INTERRUPTED, AuditRecord, Kind
from gristmill.ledger.kept_outcomes import KeptOutcomes
from gristmill.ledger.metrics import NoMetrics
from gristmill.ledger.record_text import hash_text
from gristmill.ledger.tokens.spent_records import SpentCall, SpentExecution, name_conversation
from gristmill.ledger.trace import NoTraces, ReportEnding
from gristmill.model import ABANDONED, Execution, Handler, Json, Outcome, ToolCall, ToolResult
from gristmill.runtime.calls.answer_discovery import RESERVED_SERVER as RESERVED
from gristmill.runtime.execution.execution_state import ExecutionState, MadeCalls
from gristmill.runtime.hints.result_samples import take_sample
from gristmill.runtime.recording.token_accounts import TokenAccounts, UncountedCall, UncountedExecution, render_returned

LONGEST_REASON = 200
"""Most characters of the reason why an execution failed."""
REASON_SEARCHED = 8_000
"""How many characters at the end of an error are searched for the reason."""
_NO_REASON = ("at ", "File ", "^", "~", "hint:")
MOST_TOOLS_TITLED = 5
"""Most tools that the record of an execution names."""
MOST_TOOLS_NOTED = 50
"""Most tools of one run whose calls are noted for hints."""


class Recorder(Struct, frozen=True, kw_only=True):
    """Opens the record of an execution. With ``wait`` an answer goes back only when its record is stored."""

    audit: Audit
    note_run: Callable[[ExecutionState, str], None]
    """Stores what is needed to resume a run."""
    accounts: TokenAccounts
    metrics: NoMetrics
    anomalies: Anomalies
    outcomes: KeptOutcomes
    name_tool: Callable[[str], str]
    """Returns the name under which a call is recorded: code can invent names, and only those that exist are kept."""
    traces: NoTraces = field(default_factory=NoTraces)
    wait: bool = False
    clock: Callable[[], float] = time.time

    def open_execution(self, run: ExecutionState) -> "ExecutionRecorder":
        """Returns the recorder of one execution, to be entered as a context."""
        return ExecutionRecorder(self, run, self.clock())

    async def store_outcome(self, outcome: Outcome, execution: Execution) -> None:
        """Stores an outcome if it was promised, and waits for the records of the execution if this recorder does.

        Raises:
            StoreUnavailable: something is not stored; the same call may be made again.
        """
        await self.keep_promised(outcome, execution)
        await self.wait_for_records()

    async def keep_promised(self, outcome: Outcome, execution: Execution) -> None:
        """Stores an outcome if it was promised.

        Raises:
            StoreUnavailable: it is not stored.
        """
        if execution.promised:
            await self.outcomes.keep(outcome, identity=execution.identity)

    async def wait_for_records(self) -> None:
        """Waits until all records so far are stored, if this recorder waits for them.

        Raises:
            StoreUnavailable: they are not.
        """
        if self.wait:
            await self.audit.flush()

    def record_security(self, record: AuditRecord) -> None:
        """Records something that belongs to no execution, and counts it."""
        self.metrics.count_security_event(record.rule or record.kind)
        self.audit.record(record)


class ExecutionRecorder(Struct):
    """Records an execution under way; if it is left without ``finish``, the record says that it was broken off."""

    recorder: Recorder
    run: ExecutionState
    began: float
    finished: bool = False
    bytes: int = 0
    calls_made: list[UncountedCall] = field(default_factory=list[UncountedCall])
    _span: ExitStack = field(default_factory=ExitStack)
    _report_ending: ReportEnding | None = None
    trace_context: Any = None
    """The span, for calls: those of a session are read by a task that is older than the execution."""

    async def finish(self, run: ExecutionState, outcome: Outcome) -> Outcome:
        """Records how the execution ended, and what it cost.

        Raises:
            OutcomeNotStored: the records cannot be stored now.
        """
        self.run = run
        outcome = replace(outcome, tokens_saved=self.recorder.accounts.count_execution(self._build_account(run, outcome)))
        # The outcome comes first: a record that says how an execution ended stands for an outcome that can be fetched, wherever
        # the process was killed or the execution cancelled. Without the record the execution can be resumed.
        unstored = await self._store(self.recorder.keep_promised(outcome, run.execution))
        self.finished = True
        if self.recorder.wait and not run.execution.promised:
            self.recorder.outcomes.note(outcome, identity=run.execution.identity)
        self._record_execution(
            outcome.status,
            outcome.error,
            outcome.execution_time_ms,
            rule=outcome.error_type,
            details=self._describe_ending(run, outcome),
        )
        if self.calls_made or outcome.status not in ("ok", "refused"):
            self.recorder.note_run(run, outcome.status)
        self.recorder.metrics.count_execution(
            outcome.status,
            seconds=outcome.execution_time_ms / 1000,
            memory_mb=outcome.memory_mb,
        )
        is_good = outcome.status in ("ok", "awaiting_approval")
        self.recorder.metrics.count_program(
            len(run.execution.code), None if is_good else outcome.error_type or outcome.status, frozenset(outcome.tools_called)
        )
        self._count_masks(run)
        if self._report_ending is not None:
            self._report_ending(outcome.status)
        self._record_refusal_or_limit(outcome)
        if unstored := unstored or await self._store(self.recorder.wait_for_records()):
            text = f"execution {outcome.id} has ended, but its record cannot be stored now ({unstored}): ask again soon"
            raise OutcomeNotStored(text, outcome=outcome) from None
        return outcome

    async def _store(self, storing: Awaitable[None]) -> str | None:
        """Waits until something is stored; returns why it is not."""
        try:
            await storing
        except StoreUnavailable as error:
            return error.message
        return None

    def record_call(self, call: ToolCall, ending: "RecordedEnding") -> None:
        """Records one call of the execution."""
        self.bytes += len(ending.result)
        tool = self.run.names.get(call.id) or self.recorder.name_tool(call.tool)
        decision, server = self.run.decisions.get(call.id), tool.partition(".")[0]
        self._append_record(
            "call",
            f"{call.execution}/{call.id}",
            tool=tool,
            arguments=self.run.mask_arguments(call),
            decision=decision.effect if decision else None,
            rule=ending.rule or (decision.rule if decision else None),
            status=ending.status,
            error=self.run.mask_value(ending.error) if ending.error else None,
            bytes=len(ending.result),
            ms=round(ending.seconds * 1000, 3),
        )
        self.recorder.metrics.count_call(server, ending.status, seconds=ending.seconds)
        if ending.status == "refused.call":
            self._record_security(call, ending.rule or "refused.call", {"tool": tool})
        self._record_anomalies(call, tool, ending)
        if ending.status != "planned":
            self._note_made(tool, ending)
        if server != RESERVED and ending.status != "planned":
            self.calls_made.append(_build_made_call(call, tool, ending, len(self.calls_made), self.recorder.clock()))

    def _describe_ending(self, run: ExecutionState, outcome: Outcome) -> dict[str, Json]:
        """Returns what lists show of a run: how often its first tools were called or are planned, and why it failed."""
        planned = Counter(call.tool for call in run.planned)
        made: dict[str, Json] = {tool: calls.count for tool, calls in list(run.made.items())[:MOST_TOOLS_TITLED]}
        waits: dict[str, Json] = dict(list(planned.items())[:MOST_TOOLS_TITLED])
        reason = run.mask_value(find_reason(outcome.error)) if outcome.error else None
        return {name: found for name, found in (("tools", made), ("planned", waits), ("reason", reason)) if found}

    def _note_made(self, tool: str, ending: "RecordedEnding") -> None:
        """Notes a call for hints. The shape of its result is noted once: a program may make thousands of calls."""
        if (made := self.run.made.get(tool)) is None:
            if len(self.run.made) >= MOST_TOOLS_NOTED:
                return
            made = self.run.made[tool] = MadeCalls()
        made.count += 1
        made.seconds += ending.seconds
        if ending.status != "ok":
            made.failed += 1
        elif made.sample is None:
            made.sample = take_sample(ending.value)

    def _count_masks(self, run: ExecutionState) -> None:
        """Counts masks and resets the redactor's count, as several executions may share a redactor and must not count twice."""
        if run.redactor is None:
            return
        counted, run.redactor.count = run.redactor.count, Counter()
        for kind, count in counted.items():
            self.recorder.metrics.count_masked(kind, count)

    def _record_anomalies(self, call: ToolCall, tool: str, ending: "RecordedEnding") -> None:
        """Records what is unusual for this session as security records; nothing is refused for it."""
        if call.session is None:
            return
        found = self.recorder.anomalies.observe(
            f"{call.identity.tenant}/{call.session}",
            tool,
            at=self.recorder.clock(),
            is_error=ending.status != "ok",
            size=len(ending.result),
        )
        for anomaly in found:
            self._record_security(call, f"anomaly.{anomaly.kind}", {"tool": tool, "value": anomaly.value, "usual": anomaly.usual})

    def _record_refusal_or_limit(self, outcome: Outcome) -> None:
        """Records refused code and reached limits as security records."""
        rule = f"limit.{outcome.limit}" if outcome.limit else outcome.error_type if outcome.status == "refused" else None
        if rule is not None:
            self._record_security(None, rule, {})

    def _record_security(self, call: ToolCall | None, rule: str, details: dict[str, Json]) -> None:
        self.recorder.metrics.count_security_event(rule.partition(" ")[0])
        self._append_record("security", f"{self.run.execution.id}/{call.id if call else 0}/{rule}", rule=rule, details=details)

    def _build_account(self, run: ExecutionState, outcome: Outcome) -> UncountedExecution:
        execution = run.execution
        returned = render_returned(outcome)
        record = SpentExecution(
            execution=execution.id,
            conversation=name_conversation(
                conversation=execution.conversation, session=execution.session, execution=execution.id
            ),
            session=execution.session,
            caller=execution.identity.caller,
            at=self.began,
            ms=outcome.execution_time_ms,
            status=outcome.status,
            code_bytes=len(execution.code),
            returned_bytes=len(returned),
            arm=execution.arm or "",
        )
        return UncountedExecution(
            tenant=execution.identity.tenant, record=record, code=execution.code, returned=returned, calls=tuple(self.calls_made)
        )

    def _record_execution(
        self, status: str, error: str | None, ms: float, rule: str | None = None, details: dict[str, Json] | None = None
    ) -> None:
        execution, has_masks = self.run.execution, self.run.redactor is not None
        self._append_record(
            "execution",
            execution.id,
            # Not an execution that was only asked for: it may be another tenant's, and must not be named as the parent.
            parent=execution.resume if self.run.root != execution.id and execution.parent is None else execution.parent,
            time=self.began,
            # Without a redactor the code is not kept, only a hash that tells it from other programs.
            code=self.run.mask_value(execution.code) if has_masks else None,
            code_hash=None if has_masks else hash_text(execution.code),
            status=status,
            error=self.run.mask_value(error) if error else None,
            rule=rule,
            bytes=self.bytes,
            ms=ms,
            details={**(details or {}), **self._describe_origin()},
        )

    def _describe_origin(self) -> dict[str, Json]:
        """Returns the arm and the title of the execution, as far as it has them. A title is kept only if it can be masked."""
        execution = self.run.execution
        title = self.run.mask_value(execution.title) if execution.title and self.run.redactor is not None else None
        return {name: found for name, found in (("arm", execution.arm), ("title", title)) if found}

    def _append_record(self, kind: Kind, name: str, **fields: Any) -> None:
        """Records something that happened in this execution, now unless ``fields`` give another time."""
        execution = self.run.execution
        fields.setdefault("parent", execution.id)
        fields.setdefault("time", self.recorder.clock())
        who, session = execution.identity, execution.session
        self.recorder.audit.record(
            AuditRecord(kind=kind, id=name, tenant=who.tenant, session=session, caller=who.caller, **fields)
        )

    def __enter__(self) -> "ExecutionRecorder":
        execution = self.run.execution
        self._report_ending = self._span.enter_context(
            self.recorder.traces.open_execution_span(execution.id, execution.session, execution.arm)
        )
        self.trace_context = self.recorder.traces.get_context()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._span.__exit__(kind, error, trace)
        if not self.finished:
            status = (
                error.code
                if isinstance(error, Error)
                else INTERRUPTED
                if INTERRUPTED in _list_cancel_reasons(error)
                else "cancelled"
            )
            ms, message = (self.recorder.clock() - self.began) * 1000, str(error) if isinstance(error, Error) else None
            self._record_execution(status, message, ms, details={BEGUN: True} if self._may_have_run(error) else None)
            self.recorder.metrics.count_broken_off(status)
            if self.calls_made:
                self.recorder.note_run(self.run, "crashed")

    def _may_have_run(self, error: BaseException | None) -> bool:
        # After the intake the store may fail before or after the program runs; a sandbox that is not available fails only before.
        return bool(self.calls_made) or (isinstance(error, StoreUnavailable) and self.run.redactor is not None)


def _list_cancel_reasons(error: BaseException | None) -> tuple[object, ...]:
    """Returns the reasons that a cancellation carries; other errors carry none here."""
    return error.args if isinstance(error, asyncio.CancelledError) else ()


def find_reason(error: str) -> str | None:
    """Returns the line of an error that says why: the last one that is not a place, a mark or a hint."""
    lines = [line.strip() for line in error[-REASON_SEARCHED:].splitlines()]
    telling = [line for line in lines if line and not line.startswith(_NO_REASON)]
    return telling[-1][:LONGEST_REASON] if telling else None


class RecordedEnding(Struct, frozen=True, kw_only=True):
    """How a call ended: its status, its answer as text, why it failed and by which rule, how long it took."""

    status: str
    result: str = ""
    value: Json = None
    error: str | None = None
    rule: str | None = None
    seconds: float = 0.0


class RecordCalls(Struct, frozen=True):
    """The outermost layer: records how each call ended, whether it succeeded, failed or was refused."""

    record: ExecutionRecorder

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Passes the call on and records how it ended."""
        began, ending = time.perf_counter(), RecordedEnding(status="cancelled")
        try:
            recorder = self.record.recorder
            tool = recorder.name_tool(call.tool)
            with recorder.traces.open_call_span(tool, call.id, self.record.trace_context) as report_ending:
                result = await proceed(call)
                if result.is_error:
                    report_ending("tool_error")
            status = "planned" if result.planned is not None else "failed" if result.is_error else "ok"
            ending = RecordedEnding(
                status=status, result=_encode_result(result), value=result.value, seconds=time.perf_counter() - began
            )
            return result
        except Error as error:
            rule = error.rule if isinstance(error, Refused) else None
            ending = RecordedEnding(status=error.code, error=error.message, rule=rule, seconds=time.perf_counter() - began)
            raise
        except asyncio.CancelledError as cancelled:
            status = ABANDONED if ABANDONED in _list_cancel_reasons(cancelled) else "cancelled"
            ending = RecordedEnding(status=status, seconds=time.perf_counter() - began)
            raise
        finally:
            self.record.record_call(call, ending)


def _build_made_call(call: ToolCall, tool: str, ending: RecordedEnding, position: int, at: float) -> UncountedCall:
    arguments = _encode_json(dict(call.arguments))
    record = SpentCall(
        execution=call.execution,
        position=position,
        tool=tool,
        server=tool.partition(".")[0],
        session=call.session,
        caller=call.identity.caller,
        at=at,
        ms=ending.seconds * 1000,
        status=ending.status,
        argument_bytes=len(arguments),
        result_bytes=len(ending.result),
    )
    return UncountedCall(record=record, arguments=arguments, result=ending.result)


def _encode_result(result: ToolResult) -> str:
    return "" if result.planned is not None else _encode_json(result.value)


def _encode_json(value: Json) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        return ""
