# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
# A program's code is dynamic, and so is the code that runs it: this file is not type-checked strictly.
"""asyncio as models use it: ``asyncio.run`` inside a running loop, plain values where a coroutine was expected.

A task that the program has cancelled, or has left behind with ``asyncio.wait``, gives up its tool calls; a task that the loop
cancels because the program ends does not: the program never said that it wants no answer.
"""

import asyncio
import contextlib
import threading
import weakref
from asyncio import base_events, events, runners, tasks
from concurrent.futures import Executor

from gristmill.guest.calls.executor_jobs import ExecutorJob

_run_until_complete = base_events.BaseEventLoop.run_until_complete
_create_task = base_events.BaseEventLoop.create_task
_asyncio_run = asyncio.run
_close = base_events.BaseEventLoop.close
_run_in_executor = base_events.BaseEventLoop.run_in_executor
_wait = asyncio.wait
_get_event_loop = asyncio.get_event_loop
_cancel_all_tasks = runners._cancel_all_tasks
_left_behind = weakref.WeakSet()  # tasks that ``asyncio.wait`` returned as pending
_closing = weakref.WeakSet()  # loops whose remaining tasks are being cancelled, because they end
MOST_TURNS = 20
"""How many turns of the loop a cancelled task gets to end at the end of the program."""
on_close = []
"""Functions that are called with a loop before it closes."""


def make_awaitable(value):
    """Returns ``value`` itself if it can be awaited, otherwise an awaitable that yields it."""
    return value if hasattr(type(value), "__await__") or asyncio.iscoroutine(value) else _ReadyValue(value)


class _ReadyValue:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __await__(self):
        return self.value
        yield


def make_async_iterable(value):
    """Returns ``value`` itself if it can be iterated asynchronously, otherwise an asynchronous iterator over its items."""
    return value if hasattr(type(value), "__aiter__") else _iterate_items(value)


async def _iterate_items(value):
    for item in await make_awaitable(value):
        yield item


async def await_value(value):
    """Awaits any value: an awaitable gives its result, a plain value itself."""
    return await make_awaitable(value)


def _is_awaitable(value):
    return asyncio.isfuture(value) or asyncio.iscoroutine(value) or hasattr(type(value), "__await__")


@contextlib.contextmanager
def _outside_of_running_loop():
    """Lets another loop run inside the one that waits: a synchronous call blocks its caller, as written."""
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
    """Runs ``main`` as ``asyncio.run`` does, but also inside a running loop, and takes any awaitable."""
    if not asyncio.iscoroutine(main) or not hasattr(main, "cr_frame"):
        main = await_value(main)
    if events._get_running_loop() is None:
        return _asyncio_run(main, debug=debug, **options)
    with _outside_of_running_loop():
        return _asyncio_run(main, debug=debug, **options)


def _nested_run_until_complete(self, future):
    if events._get_running_loop() is None:
        return _run_until_complete(self, future)
    return run(future)


def _tolerant_create_task(self, coro, **options):
    return _create_task(self, coro if asyncio.iscoroutine(coro) else await_value(coro), **options)


def _accept_plain_values(original):
    def ensure_future(value, *, loop=None):
        return original(value if _is_awaitable(value) else await_value(value), loop=loop)

    return ensure_future


def _close_with_callbacks(self):
    for callback in on_close:
        callback(self)
    _close(self)


def _run_in_noted_thread(self, executor, func, *args):
    if executor is not None and not _has_threads(executor):
        return _run_in_executor(self, executor, func, *args)
    job = ExecutorJob(func, args)
    future = _run_in_executor(self, executor, job.run)
    future.add_done_callback(lambda done: job.give_up() if done.cancelled() and self not in _closing else None)
    return future


def _has_threads(executor):
    return isinstance(executor, Executor) and hasattr(executor, "_thread_name_prefix")  # the attribute: no import of the module


def is_cut_off_by_loop():
    """Returns whether the running task is cancelled only because its loop ends, not because the program gave it up."""
    loop = events._get_running_loop()
    if loop is None or loop not in _closing:
        return False
    task = tasks.current_task(loop)
    return task is None or task.cancelling() < 2


def cancel_left_tasks(loop):
    """Cancels the tasks that the program has left behind; returns those tasks, and all that were cancelled before."""
    if not (unfinished := tasks.all_tasks(loop)):
        return []
    for task in unfinished & set(_left_behind):
        if not task.cancelling():
            task.cancel()
    return [task for task in unfinished if task.cancelling()]


async def _finish_tasks(cancelled):
    for _ in range(MOST_TURNS):
        if all(task.done() for task in cancelled):
            return
        await tasks.sleep(0)


def finish_cancelled_tasks(loop):
    """Lets tasks end that the program has cancelled or left behind: the program's last line leaves them no turn for that."""
    if loop is not None and not loop.is_closed() and not loop.is_running() and (cancelled := cancel_left_tasks(loop)):
        _run_until_complete(loop, _finish_tasks(cancelled))


def _cancel_all_tasks_of_ending_loop(loop):
    cancel_left_tasks(loop)
    _closing.add(loop)
    _cancel_all_tasks(loop)


async def wait(fs, *, timeout=None, return_when=asyncio.ALL_COMPLETED):  # noqa: ASYNC109 - the signature of asyncio.wait
    """Waits as ``asyncio.wait`` does, and remembers which tasks were left behind."""
    done, pending = await _wait(fs, timeout=timeout, return_when=return_when)
    _left_behind.update(pending)
    return done, pending


def get_event_loop():
    """Returns the loop of this thread; in the main thread a new one if there is none, or only a closed one."""
    try:
        loop = _get_event_loop()
        if not loop.is_closed():
            return loop
    except RuntimeError:
        loop = None
    if threading.current_thread() is threading.main_thread():
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        return loop
    return loop or _get_event_loop()


def install_asyncio_patches():
    """Replaces these functions of asyncio in this process."""
    asyncio.run = run
    asyncio.wait = tasks.wait = wait
    asyncio.get_event_loop = events.get_event_loop = get_event_loop
    runners._cancel_all_tasks = _cancel_all_tasks_of_ending_loop
    base_events.BaseEventLoop.run_until_complete = _nested_run_until_complete
    base_events.BaseEventLoop.create_task = _tolerant_create_task
    base_events.BaseEventLoop.close = _close_with_callbacks
    base_events.BaseEventLoop.run_in_executor = _run_in_noted_thread
    for name in ("ensure_future", "_ensure_future"):
        if hasattr(tasks, name):
            setattr(tasks, name, _accept_plain_values(getattr(tasks, name)))
    asyncio.ensure_future = tasks.ensure_future
