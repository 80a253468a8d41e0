# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
# The agent's code is dynamic, and so is what runs it: strict typing stops at this door.
"""asyncio as models use it: ``asyncio.run`` inside a running loop, plain values where a coroutine was expected."""

import asyncio
import contextlib
from asyncio import base_events, events, tasks

_run_until_complete = base_events.BaseEventLoop.run_until_complete
_create_task = base_events.BaseEventLoop.create_task
_asyncio_run = asyncio.run
_close = base_events.BaseEventLoop.close
on_close = []
"""Called with a loop before it closes."""


def awaitable(value):
    """``value`` itself if it can be awaited, else something that awaits to it."""
    return value if hasattr(type(value), "__await__") or asyncio.iscoroutine(value) else _Settled(value)


class _Settled:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __await__(self):
        return self.value
        yield


def aiter_any(value):
    """``value`` itself if it can be iterated asynchronously, else its items one by one."""
    return value if hasattr(type(value), "__aiter__") else _each(value)


async def _each(value):
    for item in await awaitable(value):
        yield item


async def value_of(value):
    """A coroutine for any value."""
    return await awaitable(value)


def _is_awaitable(value):
    return asyncio.isfuture(value) or asyncio.iscoroutine(value) or hasattr(type(value), "__await__")


@contextlib.contextmanager
def _outside_of_running_loop():
    """Let another loop run inside the one that waits for us: a synchronous call blocks its caller, as written."""
    running = events._get_running_loop()
    task = tasks.current_task(running)
    events._set_running_loop(None)
    if task is not None:
        tasks._leave_task(running, task)
    try:
        yield
    finally:
        if task is not None:
            tasks._enter_task(running, task)
        events._set_running_loop(running)


def run(main, *, debug=None, **options):
    """``asyncio.run`` that also works where a loop runs already, and takes any awaitable."""
    if not asyncio.iscoroutine(main) or not hasattr(main, "cr_frame"):
        main = value_of(main)
    if events._get_running_loop() is None:
        return _asyncio_run(main, debug=debug, **options)
    with _outside_of_running_loop():
        return _asyncio_run(main, debug=debug, **options)


def _nested_run_until_complete(self, future):
    if events._get_running_loop() is None:
        return _run_until_complete(self, future)
    return run(future)


def _tolerant_create_task(self, coro, **options):
    return _create_task(self, coro if asyncio.iscoroutine(coro) else value_of(coro), **options)


def _tolerant(original):
    def ensure_future(value, *, loop=None):
        return original(value if _is_awaitable(value) else value_of(value), loop=loop)

    return ensure_future


def _announced_close(self):
    for callback in on_close:
        callback(self)
    _close(self)


def install():
    """Put these in asyncio's place, in this process."""
    asyncio.run = run
    base_events.BaseEventLoop.run_until_complete = _nested_run_until_complete
    base_events.BaseEventLoop.create_task = _tolerant_create_task
    base_events.BaseEventLoop.close = _announced_close
    for name in ("ensure_future", "_ensure_future"):
        if hasattr(tasks, name):
            setattr(tasks, name, _tolerant(getattr(tasks, name)))
    asyncio.ensure_future = tasks.ensure_future
