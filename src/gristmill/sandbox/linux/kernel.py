"""The kernel by number: system calls through ctypes, for calls that the standard library does not offer."""

import ctypes
import os

TYPE_CHECKING = False  # as in `typing`, whose loading would cost every launch milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable

MACHINE = os.uname().machine


def _read() -> dict[str, dict[str, int]]:
    # Line by line, without json, pathlib and platform, which the launchers would load for this file alone while a caller waits.
    found: dict[str, dict[str, int]] = {}
    table: dict[str, int] = {}
    with open(os.path.join(os.path.dirname(__file__), "syscalls.json"), encoding="latin-1") as file:
        for line in file:
            name, _, value = line.strip(" ,\n").partition(": ")
            if value == "{":
                table = found[name.strip('"')] = {}
            elif value:
                table[name.strip('"')] = int(value)
    return found


_TABLES = _read()


def tables() -> dict[str, dict[str, int]]:
    """The numbers of the system calls by machine and name."""
    return _TABLES


NUMBERS = tables().get(MACHINE, {})

# PyDLL keeps the GIL during the call: all of these return at once, and a zygote has one thread anyway.
_libc = ctypes.PyDLL(None, use_errno=True)
_syscall = _libc.syscall
_syscall.restype = ctypes.c_long

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 1, 4, 38


class KernelRefused(OSError):
    """A system call failed; the message names it."""


def call(name: str, *args: object) -> int:
    """Make one system call.

    Raises:
        KernelRefused: the kernel said no, or this machine has no such call.
    """
    result = _syscall(ctypes.c_long(number(name)), *(_argument(arg) for arg in args))
    if result < 0:
        errno = ctypes.get_errno()
        raise KernelRefused(errno, f"{name}: {os.strerror(errno)}")
    return result


def number(name: str) -> int:
    """The number of a system call.

    Raises:
        KernelRefused: this machine has no such call.
    """
    found = NUMBERS.get(name)
    if found is None:
        raise KernelRefused(38, f"{name} is not known on {MACHINE}")
    return found


def raw(number: int, *args: int) -> int:
    """Make one system call by number; a failure is the negative errno."""
    result = _syscall(ctypes.c_long(number), *(ctypes.c_long(arg) for arg in args))
    return result if result >= 0 else -ctypes.get_errno()


fork: "Callable[[], int]" = _libc.fork
FORK: int = ctypes.cast(_libc.fork, ctypes.c_void_p).value or 0
"""libc's fork: nothing of Python's is run in the child, whose one thread goes on where the template's stood."""


def prctl(option: int, value: int = 0) -> int:
    """``prctl`` with one argument."""
    return call("prctl", option, value, 0, 0, 0)


def _argument(arg: object) -> object:
    if isinstance(arg, int):
        return ctypes.c_long(arg)
    if isinstance(arg, str):
        return ctypes.c_char_p(arg.encode())
    if arg is None:
        return ctypes.c_void_p(None)
    return arg
