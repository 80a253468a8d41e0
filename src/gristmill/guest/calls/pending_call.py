# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
# A program's code is dynamic, and so is the code that runs it: this file is not type-checked strictly.
"""The answer to a tool call that is still in progress: await it, gather it, or simply use it.

Only calls that are written to run in parallel return one of these (``parallel_sites.py`` decides); a plain call returns its
value. If a pending answer is used as a plain value all the same, it waits for the answer and stands in for it.
"""

import asyncio
import threading

from gristmill.guest.asyncio_loops import is_cut_off_by_loop

_BINARY = "add sub mul truediv floordiv mod pow and or xor lshift rshift matmul".split()


class PendingCall:
    """One call's answer, now or later. It is also a coroutine, so that ``create_task`` accepts it.

    Its own attributes begin with an underscore: ``answer.number`` is the number in the answer.
    """

    __slots__ = ("_channel", "_done", "_error", "_number", "_observed", "_steps", "_threads", "_tool", "_value", "_waiters")
    __name__ = __qualname__ = "tool_call"

    def __init__(self, channel, tool, number):
        self._channel = channel
        self._tool = tool
        self._number = number
        self._threads = 0  # how many threads wait for the answer
        self._done = False
        self._observed = False
        self._value = self._error = self._steps = None
        self._waiters = []

    def settle(self, value, error):
        """Stores the answer and wakes the waiters (called with the channel's lock held)."""
        self._value, self._error, self._done = value, error, True
        if error is not None and not self._observed:
            self._channel.unused_errors.append(self)
        for future, loop, thread in self._waiters:
            try:
                if thread == threading.get_ident():
                    _wake_waiter(future)
                else:
                    loop.call_soon_threadsafe(_wake_waiter, future)
            except RuntimeError:
                pass  # the program has closed that loop: nothing waits there any more

    def result(self):
        """Returns the value, waiting for it if needed; raises the call's error."""
        if not self._done:
            self._threads += 1
            try:
                self._channel.wait(self)
            except BaseException:  # the program stopped waiting, for example by an alarm of its own
                self._threads -= 1
                self._give_up()
                raise
            self._threads -= 1
        return self._take_answer()

    def give_up_in_thread(self):
        """Leaves the call behind although the thread that made it waits for it: the program has given up that thread."""
        if not self._done and self._threads <= 1 and all(future.done() for future, _, _ in self._waiters):
            self._channel.abandon(self)

    def _give_up(self):
        """Leaves the call behind, unless another part of the program waits for it too."""
        if not self._done and not self._threads and all(future.done() for future, _, _ in self._waiters):
            self._channel.abandon(self)

    def _take_answer(self):
        self._observed = True
        if self._error is not None:
            raise self._error
        return self._value

    # -- as an awaitable ------------------------------------------------------------------------------------------------

    def __await__(self):
        while not self._done:
            loop = asyncio.get_running_loop()
            future = loop.create_future()
            self._waiters.append((future, loop, threading.get_ident()))
            self._channel.watch(loop)
            if not self._done:  # a reading thread may have been faster
                try:
                    yield from future
                except GeneratorExit:
                    raise  # the interpreter discards the program's coroutine, possibly while the channel is locked
                except BaseException:
                    future.cancel()
                    if not is_cut_off_by_loop():
                        self._give_up()
                    raise
        return self._take_answer()

    def send(self, value):
        if self._steps is None:
            self._steps = self.__await__()
        return self._steps.send(value)

    def throw(self, *error):
        if self._steps is None:
            self._steps = self.__await__()
            next(self._steps, None)
        return self._steps.throw(*error)

    def close(self):
        if self._steps is not None:
            self._steps.close()

    # -- as the value itself --------------------------------------------------------------------------------------------

    def __getattr__(self, name):
        # asyncio and inspect look for attributes of coroutines and futures: that must not wait for the answer.
        if name.startswith(("cr_", "gi_", "ag_", "_asyncio", "__")):
            raise AttributeError(name)
        return getattr(self.result(), name)

    @property
    def __class__(self):
        return PendingCall if not self._done or self._error is not None else type(self._value)

    def __setitem__(self, key, value):
        self.result()[key] = value

    def __delitem__(self, key):
        del self.result()[key]

    def __hash__(self):
        return object.__hash__(self)


def _wake_waiter(future):
    if not future.done():
        future.set_result(None)


def _make_forwarding_method(name):
    def method(self, *args):
        return getattr(self.result(), name)(*args)

    method.__name__ = name
    return method


for _name in [
    *"bool bytes ceil complex contains float floor format getitem index int invert iter len lt le gt ge neg pos abs".split(),
    *"repr reversed round str trunc".split(),
    *_BINARY,
    *("r" + name for name in _BINARY),
]:
    setattr(PendingCall, f"__{_name}__", _make_forwarding_method(f"__{_name}__"))

PendingCall.__bool__ = lambda self: bool(self.result())
PendingCall.__eq__ = lambda self, other: self is other or self.result() == other
PendingCall.__iter__ = lambda self: iter(self.result())
