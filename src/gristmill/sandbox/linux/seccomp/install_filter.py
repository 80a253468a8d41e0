"""Seccomp: put a filter in force. Filters are assembled in ``filters.py``, on the host; the template needs only this."""

import ctypes

from gristmill.sandbox.linux import kernel


class _Header(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def install(program: "bytes | Prepared") -> None:
    """Put the filter in force for this process and all that it will start."""
    prepared = program if isinstance(program, Prepared) else Prepared(program)
    kernel.call("seccomp", 1, 0, ctypes.byref(prepared.header))


class Prepared:
    """A program laid out in memory as the kernel wants it."""

    def __init__(self, program: bytes) -> None:
        self._buffer = ctypes.create_string_buffer(program, len(program))
        self.header = _Header(len(program) // 8, ctypes.addressof(self._buffer))
