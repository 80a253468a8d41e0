"""Turns the output and the calls of a run into progress notifications, few and short."""

import asyncio
from collections.abc import Awaitable, Callable

from gristmill.events import CallFinished, CallStarted, Event, OutputWritten
from gristmill.harmless_text import neutralize_text

Report = Callable[[float, float | None, str | None], Awaitable[None]]
"""Sends one notification: progress, total (never known), message."""

PAUSE_SECONDS = 0.5
LONGEST_MESSAGE = 400
KEPT_CHARS = 4 * LONGEST_MESSAGE


class Progress:
    """Receives the events of a run and sends progress to the client; use it as a context manager around the run."""

    def __init__(self, report: Report, *, pause: float = PAUSE_SECONDS) -> None:
        self._report, self._pause = report, pause
        self._news = asyncio.Event()
        self._new_output = ""
        self._started = self._finished = self._sent = 0
        self._tool = ""
        self._sender: asyncio.Task[None] | None = None

    def __call__(self, event: Event) -> None:
        """Takes one event, as an ``Emit``: it is cheap, never waits, and keeps only the end of the output."""
        match event:
            case OutputWritten():
                self._new_output = (self._new_output + event.text)[-KEPT_CHARS:]
            case CallStarted():
                self._started += 1
                self._tool = event.tool
            case CallFinished():
                self._finished += 1
            case _:
                return
        self._news.set()
        if self._sender is None:  # started with the first event: a silent run costs nothing
            self._sender = asyncio.create_task(self._send_progress())

    async def __aenter__(self) -> "Progress":
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._sender:
            self._sender.cancel()
            await asyncio.gather(self._sender, return_exceptions=True)

    async def _send_progress(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            self._sent += 1  # the protocol requires a growing number; when a program will end is unknown
            await self._report(float(self._sent), None, self._build_message())
            await asyncio.sleep(self._pause)

    def _build_message(self) -> str:
        lines, self._new_output = neutralize_text(self._new_output.strip()), ""
        calls = f"[{self._finished}/{self._started} calls, last {neutralize_text(self._tool)}]" if self._started else ""
        room = LONGEST_MESSAGE - len(calls) - 1
        shown = lines if len(lines) <= room else "..." + lines[-(room - 3) :]
        return f"{shown} {calls}".strip()
