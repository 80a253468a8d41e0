"""What the journal is told about a call, and when it answers in the server's place."""

import asyncio
from typing import Any, cast

import pytest

from gristmill.errors import CallRefused, StoreUnavailable, ToolFailed, UpstreamTimeout
from gristmill.ledger.journal import Journal, JournalEntry
from gristmill.model import Decision, Execution, ToolCall, ToolResult
from gristmill.runtime.calls.replay_calls import ReplayCalls
from gristmill.runtime.execution.execution_state import CallKey, ExecutionState, RecordedCall, hash_call

CALL = ToolCall(id=1, tool="crm.write", arguments={"n": 1})
KEY = CallKey(hash_call("crm.write", {"n": 1}), 0)


class Told:
    """A journal that remembers what it was told."""

    def __init__(self, *, full: bool = False) -> None:
        self.words: list[Any] = []
        self._full = full

    async def record_sent(self, entry: JournalEntry) -> None:
        if self._full:
            raise StoreUnavailable("the disk is full")
        self.words.append(("sent", entry.attempt))

    def record_sent_soon(self, entry: JournalEntry) -> None:
        self.words.append("sent soon")

    def record_done(self, entry: JournalEntry, value: Any) -> None:
        self.words.append(("done", value))

    def record_failed(self, entry: JournalEntry) -> None:
        self.words.append("failed")


def _run(*, reads: bool = False, **more: Any) -> ExecutionState:
    run = ExecutionState(execution=Execution(id="e", code=""), root="e", **more)
    run.decisions[1] = Decision(effect="allow", rule="", read_only=reads)
    return run


def made(run: ExecutionState, told: Told, answer: ToolResult | Exception, local: frozenset[str] = frozenset()) -> ToolResult:
    async def upstream(_call: ToolCall) -> ToolResult:
        told.words.append("left")
        if isinstance(answer, Exception):
            raise answer
        return answer

    noted = ReplayCalls(run, cast("Journal", told), lambda _run, status: told.words.append(status), local)
    return asyncio.run(noted(CALL, upstream))


def test_a_write_is_written_down_before_it_leaves_and_after() -> None:
    told = Told()
    assert made(_run(), told, ToolResult(value=7)).value == 7
    assert told.words == ["running", ("sent", 0), "left", ("done", 7)]


def test_a_function_of_this_process_is_written_down_as_it_leaves_unless_somebody_approved_it() -> None:
    made(_run(), told := Told(), ToolResult(value=7), frozenset({"crm"}))
    assert told.words == ["running", "sent soon", "left", ("done", 7)]
    run = _run()
    run.decisions[1] = Decision(effect="ask", rule="")
    made(run, told := Told(), ToolResult(value=7), frozenset({"crm"}))
    assert told.words == ["running", ("sent", 0), "left", ("done", 7)]


def test_a_read_is_written_down_when_it_is_answered() -> None:
    made(_run(reads=True), told := Told(), ToolResult(value=7))
    assert told.words == ["running", "left", ("done", 7)]


def test_a_call_that_succeeded_is_answered_without_leaving() -> None:
    run = _run(recorded={KEY: RecordedCall(tool="crm.write", state="done", value=5)})
    assert made(run, told := Told(), ToolResult(value=7)).value == 5
    assert (told.words, run.answered, run.diverged) == ([], {KEY}, ())


def test_a_call_that_cannot_be_written_down_does_not_leave() -> None:
    told = Told(full=True)
    with pytest.raises(StoreUnavailable):
        made(_run(), told, ToolResult(value=7))
    assert "left" not in told.words


@pytest.mark.parametrize("answer", [ToolFailed("no"), CallRefused("no", rule="x"), ToolResult(value="no", is_error=True)])
def test_a_call_that_was_refused_or_failed_may_be_made_again(answer: Any) -> None:
    told = Told()
    try:
        made(_run(), told, answer)
    except (ToolFailed, CallRefused):
        pass
    assert told.words[-1] == "failed"


def test_a_call_whose_answer_did_not_come_stays_open() -> None:
    told = Told()
    with pytest.raises(UpstreamTimeout):
        made(_run(), told, UpstreamTimeout("late"))
    assert told.words[-1] == "left"


def test_a_read_beside_a_plan_is_not_kept() -> None:
    run = _run(reads=True)
    run.plan_call(
        ToolCall(id=9, tool="crm.write", arguments={}), Decision(effect="ask", rule=""), needs_approval=True, was_lost=False
    )
    made(run, told := Told(), ToolResult(value=7))
    assert told.words == ["left"]
