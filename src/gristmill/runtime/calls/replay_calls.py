"""Answers calls that were made before from the journal; new calls are recorded there, writes before they leave."""

from collections.abc import Callable
from collections.abc import Set as AbstractSet

from msgspec import Struct

from gristmill.errors import LimitExceeded, NotFound, Refused, ToolFailed
from gristmill.ledger.journal import Journal, JournalEntry
from gristmill.model import Handler, ToolCall, ToolResult
from gristmill.runtime.execution.execution_state import ExecutionState


class ReplayCalls(Struct, frozen=True):
    """A layer that replays the calls of an earlier run, and records new ones."""

    run: ExecutionState
    journal: Journal
    note: Callable[[ExecutionState, str], None]
    """Stores what is needed to resume the run."""
    local: AbstractSet[str] = frozenset()
    """Servers whose tools are functions of this process."""

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Answers from the journal, or passes the call on and records its result.

        Raises:
            StoreUnavailable: a write could not be recorded first, so it did not leave.
        """
        run, key = self.run, self.run.find_key(call)
        before = run.find_recorded(call)
        if before is not None and before.state == "done":
            run.answered.add(key)
            if not run.is_read_only(call):
                run.count_write(call.tool, made=1)
            run.remember_result(call, before.value)
            return ToolResult(value=before.value)
        reads = run.is_read_only(call)
        if run.planned and reads:
            return await proceed(call)  # not recorded: the approved run may read something else
        entry = JournalEntry(
            root=run.root, hash=key.hash, occurrence=key.occurrence, tool=call.tool, reads=reads,
            arguments=run.mask_arguments(call), attempt=before.attempt if before else 0,
            announced=not reads and self._must_be_stored_first(call),
        )  # fmt: skip
        if not run.noted:
            # Stored before the first recorded call: a run that is killed can then be resumed.
            run.noted = True
            self.note(run, "running")
        if not reads and not entry.announced:
            self.journal.record_sent_soon(entry)
        if entry.announced:
            await self.journal.record_sent(entry)
        if not reads:
            run.count_write(call.tool, unknown=1)
        return await self._make_call(call, entry, proceed)

    def _must_be_stored_first(self, call: ToolCall) -> bool:
        """Returns whether a write may leave only after its record is stored.

        A function of this process that needed no approval does not wait: its record is written as it leaves, and only the death
        of the process in the next moment could lose the record, together with the function itself.
        """
        decision = self.run.decisions.get(call.id)
        return call.tool.partition(".")[0] not in self.local or decision is None or decision.effect != "allow"

    async def _make_call(self, call: ToolCall, entry: JournalEntry, proceed: Handler) -> ToolResult:
        try:
            result = await proceed(call)
        except (ToolFailed, Refused, NotFound, LimitExceeded):
            # The tool refused, or the call never left. After any other error it is unknown whether the call was made.
            self.journal.record_failed(entry)
            self._count_answer(entry, made=0)
            raise
        if result.is_error:
            self.journal.record_failed(entry)
            self._count_answer(entry, made=0)
        else:
            self.journal.record_done(entry, result.value)
            self._count_answer(entry, made=1)
            self.run.remember_result(call, result.value)
        return result

    def _count_answer(self, entry: JournalEntry, *, made: int) -> None:
        """Counts a write that has its answer now."""
        if not entry.reads:
            self.run.count_write(entry.tool, made=made, unknown=-1)
