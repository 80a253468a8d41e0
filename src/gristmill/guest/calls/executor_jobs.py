# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# A program's code is dynamic, and so is the code that runs it: this file is not type-checked strictly.
"""Functions that a program runs in threads of an event loop's executor: ``asyncio.to_thread``, ``loop.run_in_executor``.

A thread cannot be interrupted, but its tool calls can be given up: if the program cancels such a function, for example by
``asyncio.wait_for``, the calls that the function waits for are left behind, and it can make no more.
"""

import threading

_thread = threading.local()


class ExecutorJob:
    """One function in a thread, and the tool calls that it has made."""

    __slots__ = ("_arguments", "_calls", "_function", "_lock", "given_up")

    def __init__(self, function, arguments):
        self._function = function
        self._arguments = arguments
        self._calls = []
        self._lock = threading.Lock()  # guards _calls and given_up: they change in two threads
        self.given_up = False

    def run(self):
        """Runs the function; its calls are noted."""
        before = getattr(_thread, "job", None)
        _thread.job = self
        try:
            return self._function(*self._arguments)
        finally:
            _thread.job = before

    def give_up(self):
        """Leaves the calls of the function behind."""
        with self._lock:
            self.given_up, calls = True, self._calls
        for pending in calls:
            pending.give_up_in_thread()

    def note_call(self, pending):
        """Notes a call; returns whether the function was given up, so that nothing waits for the answer."""
        with self._lock:
            self._calls = [call for call in self._calls if not call._done]
            self._calls.append(pending)
            return self.given_up


def find_job():
    """Returns the function that runs in this thread; None in threads that no executor of a loop runs."""
    return getattr(_thread, "job", None)
