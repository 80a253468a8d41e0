# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
# A program's code is dynamic, and so is the code that runs it: this file is not type-checked strictly.
"""Restores, between two programs of a session, the state of the process that the next program and our code rely on.

Variables, modules and the working directory are the session's own and stay. Nothing here is a defence: what cannot be restored is
reported to the host, which then gives the session a fresh interpreter.
"""

import _signal  # pyright: ignore[reportMissingImports] - signal.getsignal makes an enum each time, which is slow
import gc
import os
import resource
import sys
from asyncio import events

_SIGNALS = tuple(int(number) for number in _signal.valid_signals() if number not in (_signal.SIGKILL, _signal.SIGSTOP))
_NEEDED_MODULES = ("asyncio", "builtins", "os", "sys")
_NEEDED_DESCRIPTORS = 4
"""As many as a new event loop and one file take."""
_TIMERS = (_signal.ITIMER_REAL, _signal.ITIMER_VIRTUAL, _signal.ITIMER_PROF)
_LIMITS = tuple(getattr(resource, f"RLIMIT_{name}") for name in "AS CORE CPU DATA FSIZE NOFILE NPROC STACK".split())
# Bound now: a program that patches these in its own interpreter must not break its session.
_fstat, _umask, _getcwd, _chdir, _dup, _close = os.fstat, os.umask, os.getcwd, os.chdir, os.dup, os.close
_modules = sys.modules
_get_handler, _set_handler, _set_timer, _set_mask = (
    _signal.getsignal, _signal.signal, _signal.setitimer, _signal.pthread_sigmask,
)  # fmt: skip
_get_limit, _set_limit = resource.getrlimit, resource.setrlimit
_enable_gc, _set_recursion_limit, _set_trace, _set_profile = gc.enable, sys.setrecursionlimit, sys.settrace, sys.setprofile


def stop_timers():
    """Stops the program's timers: their signals must not reach what runs after it."""
    for timer in _TIMERS:
        _set_timer(timer, 0)


class ProcessBaseline:
    """The state of the process before the first program of a session."""

    def __init__(self):
        self._umask = _umask(0o077)
        _umask(self._umask)
        self._handlers = [(number, _get_handler(number)) for number in _SIGNALS]
        self._limits = [(name, _get_limit(name)) for name in _LIMITS]
        self._has_limits = True
        self._recursion_limit = sys.getrecursionlimit()
        self._streams = sys.__stdout__, sys.__stderr__
        self.note_output()

    def note_output(self):
        """Notes which pipe the output goes to: a branch of a session has its own."""
        self._output = [_identify(fd) for fd in (1, 2)]

    def restore_kernel_state(self):
        """Restores, right after a program, what the process does at a signal and which limits it has."""
        for number, handler in self._handlers:
            if _get_handler(number) is not handler:
                _set_handler(number, handler)
        _set_mask(_signal.SIG_SETMASK, ())
        self._has_limits = self._restore_limits()

    def restore(self, home):
        """Restores the rest; returns why that is impossible (see the host's ``UNFIT_REASONS``), or None."""
        _set_trace(None)
        _set_profile(None)
        _set_recursion_limit(self._recursion_limit)
        _enable_gc()
        _umask(self._umask)
        events._set_running_loop(None)
        if [_identify(fd) for fd in (1, 2)] != self._output:
            return "output"
        self._restore_streams()
        if not self._has_limits:
            return "limits"
        if any(name not in _modules for name in _NEEDED_MODULES):
            return "interpreter"
        if not _has_descriptors():
            return "descriptors"
        return None if _restore_folder(home) else "folder"

    def _restore_streams(self):
        """Restores sys.stdout and sys.stderr; a program may have closed the objects, though not the pipe behind them."""
        streams = []
        for fd, stream in zip((1, 2), self._streams, strict=True):
            if stream.closed:
                stream = open(fd, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115 - it stays open
            streams.append(stream)
        self._streams = sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__ = tuple(streams)

    def _restore_limits(self):
        for name, before in self._limits:
            now = _get_limit(name)
            if now != before:
                if now[1] != before[1]:
                    return False  # a hard limit cannot be raised again
                _set_limit(name, before)
        return True


def _has_descriptors():
    """Returns whether the process can open as many descriptors as a program needs at least."""
    opened = []
    try:
        for _ in range(_NEEDED_DESCRIPTORS):
            opened.append(_dup(1))
    except OSError:
        return False
    finally:
        for fd in opened:
            _close(fd)
    return True


def _identify(fd):
    try:
        status = _fstat(fd)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _restore_folder(home):
    """Goes back to the workspace if the program has removed the folder that it had changed to."""
    try:
        _getcwd()
        return True
    except OSError:
        pass
    try:
        _chdir(home)
    except OSError:
        return False
    return True
