"""Lets a tool use a backend that lives on another event loop: work goes there, and its events and calls come back here.

A tool may be called with or without an event loop, and in any thread. What the backend tells while it works is handled where the
tool was called, because LangGraph finds its streams and its settings in the context of that place.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")
Send = Callable[[Any], None]
"""Sends an item to the place where the tool was called."""
Work = Callable[[Send], Coroutine[Any, Any, T]]
"""Work on the loop of the backend, with a way to send items back."""


class LoopBridge:
    """Runs work on ``loop``, from any thread and from any loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop

    def run(self, work: Work[T], handle: Callable[[Any], object]) -> T:
        """Runs ``work``, handles the items that it sends one after the other, and returns its result.

        Raises:
            RuntimeError: it was called on the loop itself, which it would block for good.
        """
        if _find_running_loop() is self.loop:
            raise RuntimeError(
                "this would block the event loop of the runtime: use the asynchronous call (ainvoke), or another thread"
            )
        inbox: SimpleQueue[Any] = SimpleQueue()
        future = asyncio.run_coroutine_threadsafe(work(inbox.put), self.loop)
        future.add_done_callback(lambda _: inbox.put(_END))
        try:
            while (item := inbox.get()) is not _END:
                handle(item)
            return future.result()
        finally:
            future.cancel()

    async def arun(self, work: Work[T], handle: Callable[[Any], Awaitable[object] | None]) -> T:
        """Does the same for a caller on an event loop; what ``handle`` returns to be awaited is awaited beside the work."""
        here, inbox, handling = asyncio.get_running_loop(), asyncio.Queue[Any](), set[asyncio.Task[object]]()

        def send(item: Any) -> None:
            here.call_soon_threadsafe(inbox.put_nowait, item)

        task = asyncio.ensure_future(self._start(work(send), here))
        task.add_done_callback(lambda _: inbox.put_nowait(_END))
        try:
            while (item := await inbox.get()) is not _END:
                if (handled := handle(item)) is not None:
                    started = asyncio.create_task(_await(handled))
                    handling.add(started)
                    started.add_done_callback(handling.discard)
            return await task
        finally:
            for left in (task, *handling):
                left.cancel()
            await asyncio.gather(task, *handling, return_exceptions=True)

    async def _start(self, work: Coroutine[Any, Any, T], here: asyncio.AbstractEventLoop) -> T:
        if here is self.loop:
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.loop))


def start_loop() -> asyncio.AbstractEventLoop:
    """Starts an event loop in a thread that does not keep the process from ending."""
    loop = asyncio.new_event_loop()

    def run_until_stopped() -> None:
        loop.run_forever()
        loop.close()

    threading.Thread(target=run_until_stopped, name="gristmill-langchain", daemon=True).start()
    return loop


class AnsweredItem:
    """An item that expects an answer: a future for it, which both sides may use from any thread."""

    def __init__(self) -> None:
        self.answer: Future[Any] = Future()


_END = object()


async def _await(item: Awaitable[object]) -> object:
    return await item


def _find_running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
