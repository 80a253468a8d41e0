"""The turns that run in this process: one per conversation, with any number of listeners, stopped or kept with its client."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Coroutine
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

from gristmill.chat.chat_events import ChatAnswer, ChatEvent, CodeDelta, ProgramPrinted, TextDelta
from gristmill.errors import Busy, Conflict
from gristmill.model import Identity
from gristmill.runtime.runtime import Runtime

MOST_EVENTS, MOST_PARTS = 20_000, 15_000
"""How many events of one turn are kept for listeners; parts of texts are dropped earlier, then the oldest events."""
STOP_SECONDS = 10.0
"""How long a stopped turn may take to end."""


class RunningTurn:
    """One turn that runs, with the events so far."""

    def __init__(self, identity: Identity) -> None:
        self.identity = identity
        self.conversation = ""
        self.task: asyncio.Task[ChatAnswer] | None = None
        self._has_begun = self._is_stopped = False
        self.began = time.monotonic()
        self.first_seconds: float | None = None
        """Seconds until the model wrote its first part."""
        self._events: deque[ChatEvent] = deque()
        self._dropped = 0
        self._is_over = False
        self._changed = asyncio.Event()

    def tell(self, event: ChatEvent) -> None:
        """Keeps an event and wakes the listeners."""
        is_part = isinstance(event, TextDelta | CodeDelta | ProgramPrinted)
        if is_part and self.first_seconds is None:
            self.first_seconds = time.monotonic() - self.began
        if is_part and len(self._events) >= MOST_PARTS:
            return  # what is dropped here is in the answer, or in the outcome
        self._events.append(event)
        while len(self._events) > MOST_EVENTS:
            self._events.popleft()
            self._dropped += 1
        self._wake()

    def end(self) -> None:
        """Says that no event follows."""
        self._is_over = True
        self._wake()

    async def follow(self) -> AsyncGenerator[ChatEvent]:
        """Yields the events from the first that is kept to the last."""
        place = 0
        while True:
            while place < self._dropped + len(self._events):
                place = max(place, self._dropped)
                yield self._events[place - self._dropped]
                place += 1
            if self._is_over:
                return
            changed = self._changed
            await changed.wait()

    async def work(self, steps: Coroutine[Any, Any, ChatAnswer]) -> ChatAnswer:
        """Takes the steps of the turn. One that was stopped before begins too, so that its end is recorded."""
        self._has_begun = True
        if self._is_stopped:
            self._cancel()
        return await steps

    def stop(self) -> None:
        """Cancels the work, now or as soon as it begins; the turn ends as ``stopped``."""
        self._is_stopped = True
        if self._has_begun:
            self._cancel()

    async def wait_until_ended(self) -> None:
        """Waits a short time for the end of a turn that was stopped."""
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                while not self._is_over:
                    await self._changed.wait()
                if self.task is not None:
                    await asyncio.wait([self.task])

    def _cancel(self) -> None:
        if self.task is not None:
            self.task.cancel()

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


class RunningTurns:
    """All turns of one runtime in this process."""

    def __init__(self, most_per_tenant: int) -> None:
        self._most = most_per_tenant
        self._by_conversation: dict[str, RunningTurn] = {}
        self._tenants: Counter[str] = Counter()

    def admit(self, turn: RunningTurn) -> None:
        """Counts a turn that begins.

        Raises:
            Busy: the tenant has too many turns at the same time.
        """
        tenant = turn.identity.tenant
        if self._tenants[tenant] >= self._most:
            text = f"{self._most} turns of this tenant are running: wait for one of them"
            raise Busy(text, limit="chat.concurrency", value=self._most, retry_after=2.0)
        self._tenants[tenant] += 1

    def leave(self, turn: RunningTurn) -> None:
        """Counts a turn that ended."""
        tenant = turn.identity.tenant
        self._tenants[tenant] -= 1
        if not self._tenants[tenant]:
            del self._tenants[tenant]
        if self._by_conversation.get(turn.conversation) is turn:
            del self._by_conversation[turn.conversation]

    def attach(self, conversation: str, turn: RunningTurn) -> None:
        """Notes which conversation a turn belongs to.

        Raises:
            Conflict: another turn of it runs.
        """
        if conversation in self._by_conversation:
            raise Conflict("a turn of this conversation is running: wait for its end, or stop it")
        turn.conversation = conversation
        self._by_conversation[conversation] = turn

    def find(self, conversation: str, identity: Identity) -> RunningTurn | None:
        """Returns the running turn of a conversation of that caller."""
        found = self._by_conversation.get(conversation)
        return found if found is not None and found.identity == identity else None

    def is_running(self, conversation: str) -> bool:
        """Returns whether a turn of the conversation runs here."""
        return conversation in self._by_conversation

    def list_all(self) -> tuple[RunningTurn, ...]:
        """Returns every running turn."""
        return tuple(self._by_conversation.values())


_turns: WeakKeyDictionary[Runtime, RunningTurns] = WeakKeyDictionary()


def open_running_turns(runtime: Runtime) -> RunningTurns:
    """Returns the running turns of a runtime: the same ones for all its chats."""
    return _turns.setdefault(runtime, RunningTurns(runtime.config.chat.concurrency))
