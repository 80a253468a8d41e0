"""Keeps the events of one run for late and slow listeners, within limits of number and bytes."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from gristmill.events import CallFinished, CallProgressed, CallStarted, Event, OutputWritten

EVENTS, EVENT_BYTES = 5_000, 1_000_000
"""How many events, and bytes of events, one execution keeps for late and slow listeners; the oldest are dropped first, and
listeners are told how many."""
HEARTBEAT_SECONDS = 15.0
"""How often a stream without events sends a sign of life."""

_NAMES: dict[type[Event], str] = {
    OutputWritten: "output", CallStarted: "call_started", CallFinished: "call_finished", CallProgressed: "call_progressed",
}  # fmt: skip


class KeptEvent(Struct, frozen=True):
    """One event in the form in which it is sent; ``number`` counts from 1 within its execution."""

    number: int
    name: str
    text: bytes


class KeptEvents:
    """The events of one run, in order; the last one says how it ended."""

    def __init__(self) -> None:
        self._events: deque[KeptEvent] = deque()
        self._bytes = self._count = 0
        self._is_complete = False
        self._changed: asyncio.Event | None = None
        """Made by a listener that waits: most runs have none, and ended runs are kept by the thousand."""

    @property
    def size(self) -> int:
        """The bytes of the kept events."""
        return self._bytes

    def add(self, event: Event) -> bool:
        """Keeps an event and wakes the listeners; returns whether it is of a kind that listeners are told."""
        name = _NAMES.get(type(event))
        if name is None:
            return False
        self._keep(name, msgspec.json.encode({"type": name, "at": time.time(), **asdict(event)}))
        return True

    def add_last(self, name: str, execution: str, value: object) -> None:
        """Keeps the last event: the outcome of ``execution``, or the problem that prevented one."""
        self._is_complete = True
        self._keep(name, msgspec.json.encode({"type": name, "execution": execution, name: value}))

    async def follow(self, after: int = 0) -> AsyncGenerator[KeptEvent | None]:
        """Yields the events after the one with the number ``after``, then new ones until the end; ``None`` as a sign of life."""
        while True:
            last = after
            for event in [event for event in self._events if event.number > after]:
                if event.number > last + 1:
                    lost = event.number - last - 1
                    yield KeptEvent(event.number - 1, "dropped", msgspec.json.encode({"type": "dropped", "events": lost}))
                last = event.number
                yield event
            after = max(after, last)
            if self._is_complete and after >= self._count:
                return
            if after < self._count:
                continue
            self._changed = self._changed or asyncio.Event()
            try:
                await asyncio.wait_for(self._changed.wait(), HEARTBEAT_SECONDS)
            except TimeoutError:
                yield None

    def _keep(self, name: str, text: bytes) -> None:
        self._count += 1
        self._events.append(KeptEvent(self._count, name, text))
        self._bytes += len(text)
        while len(self._events) > 1 and (len(self._events) > EVENTS or self._bytes > EVENT_BYTES):
            self._bytes -= len(self._events.popleft().text)
        if self._changed is not None:
            self._changed.set()
            self._changed = None
