"""Learning from calls: the shape of results that no server declares, and which tool followed which question.

Calls only leave a note; the work is done in a thread, for a sample of calls, within fixed bounds.
"""

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gristmill.catalog.catalog import Catalog
from gristmill.catalog.learned.learned_schema import learned_from_json, learned_result, learned_to_json
from gristmill.catalog.learned.result_shapes import Learned, observe
from gristmill.catalog.modules.tool_module import LearnedResult
from gristmill.catalog.search.usage_habits import Habits
from gristmill.catalog.types.loose_schema import mapping
from gristmill.model import LOCAL, Handler, Json, ToolCall, ToolResult
from gristmill.runtime.tools.kept_json import read_json, write_json
from gristmill.values import dataclass

log = logging.getLogger(__name__)

WAITING = 8
"""Results that wait to be looked at; more are not learned from, since each may be large."""
ALL_UNTIL = 10
"""Each of the first results of a tool is looked at, then ever fewer."""
TOOLS_KEPT = 5_000
ASKERS_KEPT = 1_000
QUESTIONS_KEPT = 4


class Shapes:
    """The shapes of results by tool, kept in one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, tuple[str, Learned]] | None = None
        self._shown: dict[str, LearnedResult] = {}
        self._asked: tuple[object, object, Mapping[str, LearnedResult]] | None = None
        self._counts: dict[str, int] = {}
        self._waiting: deque[tuple[str, str, Json]] = deque()
        self._work: asyncio.Task[None] | None = None
        self._changed = False

    def shown(self, hashes: Mapping[str, str]) -> Mapping[str, LearnedResult]:
        """What was learned about the tools of these definitions."""
        known, shown = self._load(), self._shown
        if self._asked is None or self._asked[0] is not shown or self._asked[1] is not hashes:
            # A copy of what is known: the thread that learns may be at work.
            fitting = {key: shown[key] for key, (seen, _) in list(known.items()) if hashes.get(key) == seen and key in shown}
            self._asked = shown, hashes, fitting
        return self._asked[2]

    def saw(self, key: str, definition: str, value: Json) -> None:
        """Take note of a result, if it is one of the sample."""
        count = self._counts[key] = self._counts.get(key, 0) + 1
        # 1 to 10, then 16, 32, 64 ...: a tool that is called all day costs next to nothing.
        if (count > ALL_UNTIL and count & (count - 1)) or len(self._waiting) >= WAITING:
            return
        self._waiting.append((key, definition, value))
        if self._work is None or self._work.done():
            self._work = asyncio.get_running_loop().create_task(asyncio.to_thread(self._look))

    async def close(self) -> None:
        """Finish what is under way, and keep it."""
        if self._work is not None:
            await asyncio.gather(self._work, return_exceptions=True)
            self._changed = True
            await asyncio.to_thread(self._look)

    def _look(self) -> None:
        known = self._load()
        while self._waiting:
            key, definition, value = self._waiting.popleft()
            seen, before = known.get(key, (definition, None))
            if seen != definition:
                self._shown = {other: each for other, each in self._shown.items() if other != key}
            if len(known) < TOOLS_KEPT or before is not None:
                # Another definition may be another tool: what the old one answered says nothing about it.
                known[key] = definition, observe(before if seen == definition else None, value)
                self._show(key, known[key][1])
        if self._changed:
            self._changed = False
            self._keep(known)

    def _show(self, key: str, learned: Learned) -> None:
        """Modules are written anew when the type changes, or rests on twice as many calls, not with every call."""
        fresh, old = learned_result(learned), self._shown.get(key)
        if old is None or fresh.schema != old.schema or fresh.calls >= 2 * old.calls:
            self._shown = {**self._shown, key: fresh}
            self._changed = True

    def _load(self) -> dict[str, tuple[str, Learned]]:
        if self._known is None:
            entries = mapping(read_json(self._path))
            found = {key: (str(mapping(each).get("definition")), learned_from_json(each)) for key, each in entries.items()}
            self._shown = {key: learned_result(learned) for key, (_, learned) in found.items()}
            self._counts = {key: learned.calls for key, (_, learned) in found.items()}
            self._known = found
        return self._known

    def _keep(self, known: Mapping[str, tuple[str, Learned]]) -> None:
        content = {key: {"definition": seen, **learned_to_json(learned)} for key, (seen, learned) in known.items()}
        try:
            write_json(self._path, content)
        except OSError as error:
            log.warning("learned result types are not kept: %s", error.strerror)


@dataclass(frozen=True, slots=True)
class _Question:
    query: str
    hits: frozenset[str]


class Usage:
    """Which tools were called after which question, by whoever asked; kept in one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._habits: Habits | None = None
        self._asked: OrderedDict[str, deque[_Question]] = OrderedDict()
        self._noted: set[tuple[str, str]] = set()
        self._work: asyncio.Task[None] | None = None

    @property
    def habits(self) -> Habits:
        """What was learned so far."""
        if self._habits is None:
            self._habits = Habits.from_json(read_json(self._path))
        return self._habits

    def asked(self, who: str, query: str, hits: Sequence[str]) -> None:
        """Somebody searched."""
        questions = self._asked.setdefault(who, deque(maxlen=QUESTIONS_KEPT))
        questions.append(_Question(query, frozenset(hits)))
        self._asked.move_to_end(who)
        if len(self._asked) > ASKERS_KEPT:
            self._asked.popitem(last=False)

    def called(self, who: Sequence[str], tool: str) -> None:
        """One of these, the first that asked anything, called a tool with success."""
        questions = next((self._asked[each] for each in who if each in self._asked), None)
        if not questions:
            return
        question = next((each for each in reversed(questions) if tool in each.hits), questions[-1])
        if (question.query, tool) in self._noted:
            return
        if len(self._noted) > ASKERS_KEPT:
            self._noted.clear()
        self._noted.add((question.query, tool))
        self._habits = self.habits.recorded(question.query, [tool])
        if self._work is None or self._work.done():
            self._work = asyncio.get_running_loop().create_task(asyncio.to_thread(self._keep))

    async def close(self) -> None:
        """Keep the last of it."""
        if self._work is not None:
            await asyncio.gather(self._work, return_exceptions=True)
            await asyncio.to_thread(self._keep)

    def _keep(self) -> None:
        try:
            write_json(self._path, self.habits.to_json())
        except OSError as error:
            log.warning("what was learned from use is not kept: %s", error.strerror)


@dataclass(frozen=True, slots=True)
class LearnFromCalls:
    """A layer that takes note of every call that went well. It sees what the code sees: masked, with handles for media."""

    catalog: Callable[[], Catalog]
    """The snapshot of now; calls come here under the names that it knows."""
    shapes: Shapes | None
    usage: Usage | None
    from_tenants: bool = False

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Pass the call on, and take note."""
        result = await proceed(call)
        # The catalogue is one for all: names of fields that one tenant's server answers with are not for another to read.
        if not result.is_error and (self.from_tenants or call.tenant == LOCAL):
            self._note(call, result.value)
        return result

    def _note(self, call: ToolCall, value: Json) -> None:
        if self.usage is not None:
            self.usage.called(askers(call), call.tool)
        if self.shapes is None:
            return
        catalog = self.catalog()
        tool = catalog.tools.get(call.tool)
        if tool is not None and tool.output_schema is None:
            self.shapes.saw(call.tool, catalog.hashes[call.tool], value)


OUTSIDE = ""
"""Who asks from outside without a session."""


def askers(call: ToolCall) -> tuple[str, ...]:
    """Under which names the one behind ``call`` may have asked: its session, or this very program, or from outside."""
    return (f"session {call.session}",) if call.session is not None else (f"execution {call.execution}", OUTSIDE)
