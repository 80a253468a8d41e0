"""Answers that a rule lets us use again, per session; and of identical reads under way, one is sent."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import field

from gristmill.model import Handler, ToolCall, ToolResult
from gristmill.runtime.execution.execution_state import Run
from gristmill.values import dataclass

ANSWERS = 1_000
"""Answers that are kept, of all sessions together; the one used longest ago goes first."""

_Key = tuple[str, str, str, str]


@dataclass(slots=True)
class Cache:
    """What is known, and what is being asked right now, by tenant, session or run, caller, tool and arguments."""

    clock: Callable[[], float] = time.monotonic
    hits: int = 0
    tell: Callable[[bool], None] = lambda _hit: None
    """Hears of every read, and whether it was answered from here."""
    _answers: OrderedDict[_Key, tuple[float, ToolResult]] = field(default_factory=OrderedDict[_Key, tuple[float, ToolResult]])
    _asked: dict[_Key, asyncio.Future[ToolResult]] = field(default_factory=dict[_Key, asyncio.Future[ToolResult]])

    def get(self, key: _Key) -> ToolResult | None:
        """An answer that is still good."""
        found = self._answers.get(key)
        if found is None or found[0] <= self.clock():
            self._answers.pop(key, None)
            return None
        self._answers.move_to_end(key)
        return found[1]

    def put(self, key: _Key, result: ToolResult, seconds: float) -> None:
        """Keep an answer for a while."""
        self._answers[key] = (self.clock() + seconds, result)
        while len(self._answers) > ANSWERS:
            self._answers.popitem(last=False)

    async def once(self, key: _Key, ask: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
        """The answer of whoever asks the same right now, or of ``ask``."""
        while (asked := self._asked.get(key)) is not None:
            try:
                result = await asyncio.shield(asked)
            except asyncio.CancelledError:
                if not asked.cancelled():
                    raise
                continue  # whoever asked gave up: that is no answer for us
            self.hit()
            return result
        return await self._ask(key, ask)

    def hit(self) -> None:
        """An answer was used again."""
        self.hits += 1
        self.tell(True)

    async def _ask(self, key: _Key, ask: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
        self.tell(False)
        answer = self._asked[key] = asyncio.get_running_loop().create_future()
        try:
            result = await ask()
        except Exception as error:
            answer.set_exception(error)
            answer.exception()  # nobody else may have been waiting
            raise
        except BaseException:
            answer.cancel()
            raise
        finally:
            del self._asked[key]
        answer.set_result(result)
        return result


@dataclass(frozen=True, slots=True)
class UseAgain:
    """A layer for reads; writes pass by."""

    run: Run
    cache: Cache

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Answer from the cache, share an answer under way, or ask."""
        if not self.run.reads(call):
            return await proceed(call)
        decision = self.run.decisions.get(call.id)
        seconds = decision.cache_seconds if decision else 0.0
        key = (call.tenant, call.session or self.run.root, call.caller, self.run.key(call).hash)
        if seconds and (known := self.cache.get(key)) is not None:
            self.cache.hit()
            return known
        result = await self.cache.once(key, lambda: proceed(call))
        if seconds and not result.is_error:
            self.cache.put(key, result, seconds)
        return result
