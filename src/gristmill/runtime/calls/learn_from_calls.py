"""Learns from calls: the shape of results that no server declares, and which tool followed which search.

Calls only leave a note; the work is done in a thread, for a sample of calls, within fixed bounds.
"""

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from gristmill.catalog.catalog import Catalog
from gristmill.catalog.learned.learned_schema import (
    learned_from_json,
    learned_to_json,
    make_learned_type,
    pack_entries,
    unpack_entries,
)
from gristmill.catalog.learned.result_shapes import LearnedResult, observe_result
from gristmill.catalog.modules.tool_module import LearnedResultType
from gristmill.catalog.search.usage_habits import UsageHabits
from gristmill.loose_json import as_mapping
from gristmill.model import LOCAL, Handler, Json, ToolCall, ToolResult
from gristmill.runtime.tools.kept_json import read_json, write_json

log = logging.getLogger(__name__)

MOST_WAITING = 8
"""Most results that wait to be learned from; further ones are skipped, because each may be large."""
ALL_UNTIL = 10
"""Each of this many first results of a tool is learned from, then fewer and fewer."""
TOOLS_KEPT = 5_000
ASKERS_KEPT = 1_000
QUESTIONS_KEPT = 4


class ShapeLearning:
    """Learns the shapes of results by tool, and keeps them in one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, tuple[str, LearnedResult]] | None = None
        self._shown: dict[str, LearnedResultType] = {}
        self._fitting_types: tuple[object, object, Mapping[str, LearnedResultType]] | None = None
        self._counts: dict[str, int] = {}
        self._waiting: deque[tuple[str, str, Json]] = deque()
        self._work: asyncio.Task[None] | None = None
        self._changed = False

    def get_types(self, hashes: Mapping[str, str]) -> Mapping[str, LearnedResultType]:
        """Returns the learned result types of the tools whose definitions have these hashes."""
        known, shown = self._load(), self._shown
        if self._fitting_types is None or self._fitting_types[0] is not shown or self._fitting_types[1] is not hashes:
            # A copy of what is known: the learning thread may be changing it.
            fitting = {key: shown[key] for key, (seen, _) in list(known.items()) if hashes.get(key) == seen and key in shown}
            self._fitting_types = shown, hashes, fitting
        return self._fitting_types[2]

    def note_result(self, key: str, definition: str, value: Json) -> None:
        """Queues a result to be learned from, if it belongs to the sample."""
        count = self._counts[key] = self._counts.get(key, 0) + 1
        # Results 1 to 10, then 16, 32, 64 and so on: a tool that is called all day costs almost nothing.
        if (count > ALL_UNTIL and count & (count - 1)) or len(self._waiting) >= MOST_WAITING:
            return
        self._waiting.append((key, definition, value))
        if self._work is None or self._work.done():
            self._work = asyncio.get_running_loop().create_task(asyncio.to_thread(self._learn_from_waiting))

    async def close(self) -> None:
        """Finishes the work under way, and saves what was learned."""
        if self._work is not None:
            await asyncio.gather(self._work, return_exceptions=True)
            self._changed = True
            await asyncio.to_thread(self._learn_from_waiting)

    def _learn_from_waiting(self) -> None:
        known = self._load()
        while self._waiting:
            key, definition, value = self._waiting.popleft()
            seen, before = known.get(key, (definition, None))
            if seen != definition:
                self._shown = {other: each for other, each in self._shown.items() if other != key}
            if len(known) < TOOLS_KEPT or before is not None:
                # A changed definition may mean another tool: results under the old one say nothing about it.
                known[key] = definition, observe_result(before if seen == definition else None, value)
                self._publish_type(key, known[key][1])
        if self._changed:
            self._changed = False
            self._save(known)

    def _publish_type(self, key: str, learned: LearnedResult) -> None:
        """Publishes a type when it changed or rests on twice as many calls; not more often, as modules are rewritten then."""
        fresh, old = make_learned_type(learned), self._shown.get(key)
        if old is None or fresh.schema != old.schema or fresh.calls >= 2 * old.calls:
            self._shown = {**self._shown, key: fresh}
            self._changed = True

    def _load(self) -> dict[str, tuple[str, LearnedResult]]:
        if self._known is None:
            entries = unpack_entries(read_json(self._path))
            found = {key: (str(as_mapping(each).get("definition")), learned_from_json(each)) for key, each in entries.items()}
            self._shown = {key: make_learned_type(learned) for key, (_, learned) in found.items()}
            self._counts = {key: learned.calls for key, (_, learned) in found.items()}
            self._known = found
        return self._known

    def _save(self, known: Mapping[str, tuple[str, LearnedResult]]) -> None:
        content = {key: {"definition": seen, **learned_to_json(learned)} for key, (seen, learned) in known.items()}
        try:
            write_json(self._path, pack_entries(content))
        except OSError as error:
            log.warning("learned result types are not kept: %s", error.strerror)


class _Question(Struct, frozen=True):
    query: str
    hits: frozenset[str]


class UsageLearning:
    """Learns which tools were called after which search, by the same asker; kept in one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._habits: UsageHabits | None = None
        self._asked: OrderedDict[str, deque[_Question]] = OrderedDict()
        self._noted: set[tuple[str, str]] = set()
        self._work: asyncio.Task[None] | None = None

    @property
    def habits(self) -> UsageHabits:
        """Returns what was learned so far."""
        if self._habits is None:
            self._habits = UsageHabits.from_json(read_json(self._path))
        return self._habits

    def note_search(self, who: str, query: str, hits: Sequence[str]) -> None:
        """Remembers a search of ``who``, and the tools that it found."""
        questions = self._asked.setdefault(who, deque(maxlen=QUESTIONS_KEPT))
        questions.append(_Question(query, frozenset(hits)))
        self._asked.move_to_end(who)
        if len(self._asked) > ASKERS_KEPT:
            self._asked.popitem(last=False)

    def note_call(self, who: Sequence[str], tool: str) -> None:
        """Learns from a successful call of ``tool``: it followed the searches of the first name in ``who`` that has searched."""
        questions = next((self._asked[each] for each in who if each in self._asked), None)
        if not questions:
            return
        question = next((each for each in reversed(questions) if tool in each.hits), questions[-1])
        if (question.query, tool) in self._noted:
            return
        if len(self._noted) > ASKERS_KEPT:
            self._noted.clear()
        self._noted.add((question.query, tool))
        self._habits = self.habits.with_calls(question.query, [tool])
        if self._work is None or self._work.done():
            self._work = asyncio.get_running_loop().create_task(asyncio.to_thread(self._save))

    async def close(self) -> None:
        """Waits for the work under way, and saves what was learned."""
        if self._work is not None:
            await asyncio.gather(self._work, return_exceptions=True)
            await asyncio.to_thread(self._save)

    def _save(self) -> None:
        try:
            write_json(self._path, self.habits.to_json())
        except OSError as error:
            log.warning("what was learned from use is not kept: %s", error.strerror)


class LearnFromCalls(Struct, frozen=True):
    """A layer that learns from every successful call. It sees what the code sees: masked, with handles for media."""

    catalog: Callable[[], Catalog]
    """Returns the current snapshot; calls arrive here under the names that it knows."""
    shapes: ShapeLearning | None
    usage: UsageLearning | None
    from_tenants: bool = False

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Passes the call on, and learns from its result."""
        result = await proceed(call)
        # All tenants share one catalogue: field names in the answers of one tenant's server must not be shown to another tenant.
        if not result.is_error and (self.from_tenants or call.identity.tenant == LOCAL):
            self._note_call(call, result.value)
        return result

    def _note_call(self, call: ToolCall, value: Json) -> None:
        if self.usage is not None:
            self.usage.note_call(list_askers(call), call.tool)
        if self.shapes is None:
            return
        catalog = self.catalog()
        tool = catalog.tools.get(call.tool)
        if tool is not None and tool.output_schema is None:
            self.shapes.note_result(call.tool, catalog.hashes[call.tool], value)


OUTSIDE = ""
"""The name of an asker from outside without a session."""


def list_askers(call: ToolCall) -> tuple[str, ...]:
    """Returns the names under which the maker of ``call`` may have searched: its session; or its execution, then ``OUTSIDE``."""
    return (f"session {call.session}",) if call.session is not None else (f"execution {call.execution}", OUTSIDE)
