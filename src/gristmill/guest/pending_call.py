# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
# The agent's code is dynamic, and so is what runs it: strict typing stops at this door.
"""The answer to a tool call that is still under way: await it, gather it, or simply use it.

Only calls written so that they run in parallel yield one of these (``sites.py`` decides); a plain call returns its value.
Used as a plain value all the same, it waits for the answer and stands in for it.
"""

import asyncio
import threading

_BINARY = "add sub mul truediv floordiv mod pow and or xor lshift rshift matmul".split()


class Pending:
    """One call's answer, now or later. Also a coroutine, so that ``create_task`` takes it."""

    __slots__ = ("_channel", "_steps", "_value", "_waiters", "done", "error", "observed", "tool")
    __name__ = __qualname__ = "tool_call"

    def __init__(self, channel, tool):
        self._channel = channel
        self.tool = tool
        self.done = False
        self.observed = False
        self._value = self.error = self._steps = None
        self._waiters = []

    def settle(self, value, error):
        """The answer is here (called with the channel's lock held)."""
        self._value, self.error, self.done = value, error, True
        if error is not None:
            self._channel.unused_errors.append(self)
        for future, loop, thread in self._waiters:
            if thread == threading.get_ident():
                _wake(future)
            else:
                loop.call_soon_threadsafe(_wake, future)

    def result(self):
        """The value, waited for if need be; raises what the call raised."""
        if not self.done:
            self._channel.wait(self)
        return self._answer()

    def _answer(self):
        self.observed = True
        if self.error is not None:
            raise self.error
        return self._value

    # -- as an awaitable ------------------------------------------------------------------------------------------------

    def __await__(self):
        while not self.done:
            loop = asyncio.get_running_loop()
            future = loop.create_future()
            self._waiters.append((future, loop, threading.get_ident()))
            self._channel.watch(loop)
            if not self.done:  # a reading thread may have been faster
                yield from future
        return self._answer()

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
        # asyncio and inspect look for marks of coroutines and futures: that must not wait for the answer.
        if name.startswith(("cr_", "gi_", "ag_", "_asyncio", "__")):
            raise AttributeError(name)
        return getattr(self.result(), name)

    @property
    def __class__(self):
        return Pending if not self.done or self.error is not None else type(self._value)

    def __setitem__(self, key, value):
        self.result()[key] = value

    def __delitem__(self, key):
        del self.result()[key]

    def __hash__(self):
        return object.__hash__(self)


def _wake(future):
    if not future.done():
        future.set_result(None)


def _forward(name):
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
    setattr(Pending, f"__{_name}__", _forward(f"__{_name}__"))

Pending.__bool__ = lambda self: bool(self.result())
Pending.__eq__ = lambda self, other: self is other or self.result() == other
Pending.__iter__ = lambda self: iter(self.result())
