"""Reuses answers where a rule allows it, per session; of identical reads that are under way, only one is sent."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from msgspec import Struct, field

from gristmill.model import Handler, Identity, ToolCall, ToolResult
from gristmill.runtime.execution.execution_state import ExecutionState

MOST_ANSWERS = 1_000
"""Most answers that are kept, for all sessions together; the one used longest ago is dropped first."""

_Key = tuple[Identity, str, str, int]


class AnswerCache(Struct):
    """Known answers, and reads under way, by identity, session or run, tool and arguments."""

    clock: Callable[[], float] = time.monotonic
    on_read: Callable[[bool], None] = lambda _hit: None
    """Receives, for every read, whether it was answered from here."""
    epoch: int = 0
    """Part of every key: answers of servers that were set up in another way are never found again."""
    _answers: OrderedDict[_Key, tuple[float, ToolResult]] = field(default_factory=OrderedDict[_Key, tuple[float, ToolResult]])
    _under_way: dict[_Key, asyncio.Future[ToolResult]] = field(default_factory=dict[_Key, asyncio.Future[ToolResult]])

    def forget_answers(self) -> None:
        """Forgets every answer, also those of reads that are under way."""
        self.epoch += 1
        self._answers.clear()

    def get(self, key: _Key) -> ToolResult | None:
        """Returns an answer that has not expired, or None."""
        found = self._answers.get(key)
        if found is None or found[0] <= self.clock():
            self._answers.pop(key, None)
            return None
        self._answers.move_to_end(key)
        return found[1]

    def put(self, key: _Key, result: ToolResult, seconds: float) -> None:
        """Keeps an answer for ``seconds``."""
        self._answers[key] = (self.clock() + seconds, result)
        while len(self._answers) > MOST_ANSWERS:
            self._answers.popitem(last=False)

    async def ask_once(self, key: _Key, ask: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
        """Returns the answer of an identical read under way, or else of ``ask``."""
        while (asked := self._under_way.get(key)) is not None:
            try:
                result = await asyncio.shield(asked)
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if not asked.cancelled() or (task is not None and task.cancelling()):
                    raise  # this read was cancelled, perhaps together with the other: it must not begin now
                continue  # the other read was cancelled: that is no answer for this one
            self.count_hit()
            return result
        return await self._ask_and_share(key, ask)

    def count_hit(self) -> None:
        """Counts an answer that was reused."""
        self.on_read(True)

    async def _ask_and_share(self, key: _Key, ask: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
        self.on_read(False)
        answer = self._under_way[key] = asyncio.get_running_loop().create_future()
        try:
            result = await ask()
        except Exception as error:
            answer.set_exception(error)
            answer.exception()  # marks it as retrieved: there may be no other waiter
            raise
        except BaseException:
            answer.cancel()
            raise
        finally:
            del self._under_way[key]
        answer.set_result(result)
        return result


class ReuseAnswers(Struct, frozen=True):
    """A layer that reuses answers to reads; writes pass through."""

    run: ExecutionState
    cache: AnswerCache

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Answers from the cache, shares an answer under way, or passes the call on."""
        if not self.run.is_read_only(call):
            return await proceed(call)
        decision = self.run.decisions.get(call.id)
        seconds = decision.cache_seconds if decision else 0.0
        key = (call.identity, call.session or self.run.root, self.run.find_key(call).hash, self.cache.epoch)
        if seconds and (known := self.cache.get(key)) is not None:
            self.cache.count_hit()
            return known
        result = await self.cache.ask_once(key, lambda: proceed(call))
        if seconds and not result.is_error:
            self.cache.put(key, result, seconds)
        return result
