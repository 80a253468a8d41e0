"""Seccomp: puts a filter in force. Filters are assembled in ``syscall_filters.py``, on the host; the template needs only this."""

import ctypes

from gristmill.sandbox.linux import kernel


class _Header(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def install_filter(program: "bytes | PreparedFilter") -> None:
    """Puts the filter in force for this process and all processes that it will start."""
    prepared = program if isinstance(program, PreparedFilter) else PreparedFilter(program)
    kernel.make_syscall("seccomp", 1, 0, ctypes.byref(prepared.header))


class PreparedFilter:
    """A filter program, laid out in memory as the kernel expects it."""

    def __init__(self, program: bytes) -> None:
        self._buffer = ctypes.create_string_buffer(program, len(program))
        self.header = _Header(len(program) // 8, ctypes.addressof(self._buffer))
