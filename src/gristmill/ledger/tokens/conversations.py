"""Splits work into conversations: a model's loop sends its own context again and again, but never that of another loop."""

from bisect import bisect_left
from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from gristmill.ledger.tokens.savings import CountedWork
from gristmill.ledger.tokens.spent_records import SpentCall, SpentExecution, SpentSearch


class _Conversation(Struct):
    executions: list[SpentExecution] = field(default_factory=list[SpentExecution])
    calls: list[SpentCall] = field(default_factory=list[SpentCall])
    searches: list[SpentSearch] = field(default_factory=list[SpentSearch])


def split_conversations(work: CountedWork) -> list[CountedWork]:
    """Splits ``work`` by the names of its conversations; a search without one goes with the execution that it was made for."""
    found: dict[str, _Conversation] = {}

    def get_conversation(name: str) -> _Conversation:
        return found.setdefault(name, _Conversation())

    names = {execution.execution: execution.conversation for execution in work.executions}
    for execution in work.executions:
        get_conversation(execution.conversation).executions.append(execution)
    for call in work.calls:
        if call.execution in names:
            get_conversation(names[call.execution]).calls.append(call)
    placers = {caller: _SearchPlacer(made) for caller, made in _group_by_caller(work).items()}
    for search in work.searches:
        place = placers.get(search.caller)
        name = search.conversation or (place(search) if place else f"caller {search.caller}")
        get_conversation(name).searches.append(search)
    return [replace(work, executions=one.executions, calls=one.calls, searches=one.searches) for one in found.values()]


class _SearchPlacer:
    """Places a caller's search with the execution that it was made for, or in; searches after the last execution go with that."""

    def __init__(self, executions: list[SpentExecution]) -> None:
        self._made = sorted(executions, key=_compute_end)
        self._ends = [_compute_end(execution) for execution in self._made]

    def __call__(self, search: SpentSearch) -> str:
        return self._made[min(bisect_left(self._ends, search.at), len(self._made) - 1)].conversation


def _compute_end(execution: SpentExecution) -> float:
    return execution.at + execution.ms / 1000


def _group_by_caller(work: CountedWork) -> Mapping[str, list[SpentExecution]]:
    made: dict[str, list[SpentExecution]] = {}
    for execution in work.executions:
        made.setdefault(execution.caller, []).append(execution)
    return made
