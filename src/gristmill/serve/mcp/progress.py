"""A long run is not silent: its output lines and calls become progress notifications, few and short."""

import asyncio
from collections.abc import Awaitable, Callable

from gristmill.events import CallFinished, CallStarted, Event, OutputWritten
from gristmill.serve.harmless_text import harmless

Report = Callable[[float, float | None, str | None], Awaitable[None]]
"""Sends one notification: progress, total (never known), message."""

PAUSE_SECONDS = 0.5
LONGEST_MESSAGE = 400
KEPT_CHARS = 4 * LONGEST_MESSAGE


class Progress:
    """Listens to a run and tells the client; use as a context manager around the run."""

    def __init__(self, report: Report, *, pause: float = PAUSE_SECONDS) -> None:
        self._report, self._pause = report, pause
        self._news = asyncio.Event()
        self._fresh = ""
        self._started = self._finished = self._sent = 0
        self._tool = ""
        self._teller: asyncio.Task[None] | None = None

    def __call__(self, event: Event) -> None:
        """An ``Emit``: cheap, never waits, keeps no more than the tail."""
        match event:
            case OutputWritten():
                self._fresh = (self._fresh + event.text)[-KEPT_CHARS:]
            case CallStarted():
                self._started += 1
                self._tool = event.tool
            case CallFinished():
                self._finished += 1
            case _:
                return
        self._news.set()
        if self._teller is None:  # a silent run costs nothing
            self._teller = asyncio.create_task(self._tell())

    async def __aenter__(self) -> "Progress":
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._teller:
            self._teller.cancel()
            await asyncio.gather(self._teller, return_exceptions=True)

    async def _tell(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            self._sent += 1  # the protocol wants a number that grows; a program's end cannot be foreseen
            await self._report(float(self._sent), None, self._message())
            await asyncio.sleep(self._pause)

    def _message(self) -> str:
        lines, self._fresh = harmless(self._fresh.strip()), ""
        calls = f"[{self._finished}/{self._started} calls, last {harmless(self._tool)}]" if self._started else ""
        room = LONGEST_MESSAGE - len(calls) - 1
        shown = lines if len(lines) <= room else "..." + lines[-(room - 3) :]
        return f"{shown} {calls}".strip()
