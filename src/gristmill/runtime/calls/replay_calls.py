"""Calls that were made before are answered from the journal; new ones are written down, writes before they leave."""

from collections.abc import Callable

from gristmill.errors import LimitExceeded, NotFound, Refused, ToolFailed
from gristmill.ledger.journal import Entry, Journal
from gristmill.model import Handler, ToolCall, ToolResult
from gristmill.runtime.execution.execution_state import Run
from gristmill.values import dataclass


@dataclass(frozen=True, slots=True)
class Replay:
    """A layer."""

    run: Run
    journal: Journal
    note: Callable[[Run, str], None]
    """Keeps what is needed to take the run up again."""
    local: frozenset[str] = frozenset()
    """Servers whose tools are functions of this very process."""

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Answer from the journal, or pass on and write down what came of it.

        Raises:
            StoreUnavailable: a write could not be written down first, so it did not leave.
        """
        run, key = self.run, self.run.key(call)
        before = run.before(call)
        if before is not None and before.state == "done":
            run.answered.add(key)
            run.finished(call, before.value)
            return ToolResult(value=before.value)
        reads = run.reads(call)
        if run.planned and reads:
            return await proceed(call)  # what it sees now is not what the approved run will see
        entry = Entry(
            root=run.root, hash=key.hash, occurrence=key.occurrence, tool=call.tool, reads=reads,
            arguments=run.shown(call), attempt=before.attempt if before else 0,
            announced=not reads and self._must_wait(call),
        )  # fmt: skip
        if not run.noted:
            # Before the first call of which anything is kept: a run that is killed can be taken up again.
            run.noted = True
            self.note(run, "running")
        if not reads and not entry.announced:
            self.journal.sent_soon(entry)
        if entry.announced:
            await self.journal.sent(entry)
        return await self._made(call, entry, proceed)

    def _must_wait(self, call: ToolCall) -> bool:
        """Whether a write may leave only when it is safely written down.

        A function of this process that nobody had to approve need not: it is written down as it leaves, and only the death of
        the process in the next moment could take both with it.
        """
        decision = self.run.decisions.get(call.id)
        return call.tool.partition(".")[0] not in self.local or decision is None or decision.effect != "allow"

    async def _made(self, call: ToolCall, entry: Entry, proceed: Handler) -> ToolResult:
        try:
            result = await proceed(call)
        except (ToolFailed, Refused, NotFound, LimitExceeded):
            # The tool said no, or the call never left. Any other end leaves it open whether it was done.
            self.journal.failed(entry)
            raise
        if result.is_error:
            self.journal.failed(entry)
        else:
            self.journal.done(entry, result.value)
            self.run.finished(call, result.value)
        return result
