"""The state of one run in a jail, and the clock that looks after it."""

import asyncio
import secrets
import time
from collections.abc import Callable

from msgspec import Struct, field

from gristmill.events import Emit
from gristmill.sandbox.base import SandboxJob
from gristmill.sandbox.run.run_calls import RunCalls
from gristmill.sandbox.run.verdict import RunEnding

TICK_SECONDS, BUSY_TICK_SECONDS = 0.025, 0.002


def make_nonce() -> str:
    """Makes the random text that binds a guest's frames to one order."""
    return secrets.token_hex(16)


class JailRun(Struct, kw_only=True):
    """The run in progress. ``begun`` is False until a kept session has confirmed that it begins to run the program."""

    job: SandboxJob
    calls: RunCalls
    emit: Emit
    ending: asyncio.Future[RunEnding]
    begun: bool
    nonce: str = field(default_factory=make_nonce)
    started: float = field(default_factory=time.perf_counter)
    cpu_before: float = 0.0
    clock_before: float = 0.0
    """The CPU time of the process when it got the program."""
    cpu_seconds: float = 0.0
    """What the program had used when it was last looked at."""
    counts_orphans: bool = False
    stopping: str | None = None


class RunTicker:
    """Calls back every few milliseconds during a run, sooner while the pipe is full. A short run ends before the first call."""

    def __init__(self, loop: asyncio.AbstractEventLoop, tick: Callable[[], bool]) -> None:
        self._loop, self._on_tick = loop, tick
        self._handle = loop.call_later(TICK_SECONDS, self._fire)

    def stop(self) -> None:
        """Stops calling back."""
        self._handle.cancel()

    def _fire(self) -> None:
        busy = self._on_tick()
        self._handle = self._loop.call_later(BUSY_TICK_SECONDS if busy else TICK_SECONDS, self._fire)
