"""Work taken apart into conversations: a loop sends its context again and again, but never that of another loop."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import field, replace

from gristmill.ledger.tokens.savings import Work
from gristmill.ledger.tokens.spent_records import CallRecord, ExecutionRecord, SearchRecord
from gristmill.values import dataclass


@dataclass(slots=True)
class _Conversation:
    executions: list[ExecutionRecord] = field(default_factory=list[ExecutionRecord])
    calls: list[CallRecord] = field(default_factory=list[CallRecord])
    searches: list[SearchRecord] = field(default_factory=list[SearchRecord])


def conversations(work: Work) -> list[Work]:
    """A session is one conversation; an execution without a session is one of its own, with the searches made to write it."""
    found: dict[str, _Conversation] = {}

    def of(name: str) -> _Conversation:
        return found.setdefault(name, _Conversation())

    for execution in work.executions:
        of(_name(execution)).executions.append(execution)
    for call in work.calls:
        of(_name(call)).calls.append(call)
    next_of = {caller: _Next(made) for caller, made in _by_caller(work).items()}
    for search in work.searches:
        follows = next_of.get(search.caller)
        name = f"session {search.session}" if search.session else follows(search) if follows else f"caller {search.caller}"
        of(name).searches.append(search)
    return [replace(work, executions=one.executions, calls=one.calls, searches=one.searches) for one in found.values()]


class _Next:
    """Where a search of one caller belongs: to the execution that it was made for, or in; the last one takes what came after."""

    def __init__(self, executions: list[ExecutionRecord]) -> None:
        self._made = sorted(executions, key=_ended)
        self._ends = [_ended(execution) for execution in self._made]

    def __call__(self, search: SearchRecord) -> str:
        return _name(self._made[min(bisect_left(self._ends, search.at), len(self._made) - 1)])


def _name(record: ExecutionRecord | CallRecord) -> str:
    return f"session {record.session}" if record.session else f"execution {record.execution}"


def _ended(execution: ExecutionRecord) -> float:
    return execution.at + execution.ms / 1000


def _by_caller(work: Work) -> Mapping[str, list[ExecutionRecord]]:
    made: dict[str, list[ExecutionRecord]] = {}
    for execution in work.executions:
        made.setdefault(execution.caller, []).append(execution)
    return made
