"""System calls by number through ctypes, for calls that the standard library does not offer."""

import ctypes
import os

TYPE_CHECKING = False  # as in `typing`, whose import would add milliseconds to every launch
if TYPE_CHECKING:
    from collections.abc import Callable

MACHINE = os.uname().machine


def _read_tables() -> dict[str, dict[str, int]]:
    # Read line by line, without json, pathlib and platform: a launcher would import them for this file while a caller waits.
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


_TABLES = _read_tables()


def get_syscall_tables() -> dict[str, dict[str, int]]:
    """Returns the numbers of the system calls by machine and name."""
    return _TABLES


NUMBERS = get_syscall_tables().get(MACHINE, {})

# PyDLL keeps the GIL during the call: all these calls return at once, and the template has one thread anyway.
_libc = ctypes.PyDLL(None, use_errno=True)
_syscall = _libc.syscall
_syscall.restype = ctypes.c_long

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 1, 4, 38


class KernelRefused(OSError):
    """A system call failed; the message names the call."""


def make_syscall(name: str, *args: object) -> int:
    """Makes one system call.

    Raises:
        KernelRefused: the kernel refused it, or this machine has no such call.
    """
    result = _syscall(ctypes.c_long(find_syscall_number(name)), *(_convert_argument(arg) for arg in args))
    if result < 0:
        errno = ctypes.get_errno()
        raise KernelRefused(errno, f"{name}: {os.strerror(errno)}")
    return result


def find_syscall_number(name: str) -> int:
    """Returns the number of a system call.

    Raises:
        KernelRefused: this machine has no such call.
    """
    found = NUMBERS.get(name)
    if found is None:
        raise KernelRefused(38, f"{name} is not known on {MACHINE}")
    return found


def make_raw_syscall(number: int, *args: int) -> int:
    """Makes one system call by number; returns the negative errno when it fails."""
    result = _syscall(ctypes.c_long(number), *(ctypes.c_long(arg) for arg in args))
    return result if result >= 0 else -ctypes.get_errno()


fork: "Callable[[], int]" = _libc.fork
FORK_ADDRESS: int = ctypes.cast(_libc.fork, ctypes.c_void_p).value or 0
"""The address of libc's fork. It runs none of Python's fork hooks: the child continues where the template's one thread was."""


def prctl(option: int, value: int = 0) -> int:
    """Calls ``prctl`` with one argument."""
    return make_syscall("prctl", option, value, 0, 0, 0)


def _convert_argument(arg: object) -> object:
    if isinstance(arg, int):
        return ctypes.c_long(arg)
    if isinstance(arg, str):
        return ctypes.c_char_p(arg.encode())
    if arg is None:
        return ctypes.c_void_p(None)
    return arg
