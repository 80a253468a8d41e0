"""Makes prepared system calls one after the other, with no Python between them. The first call that fails ends the walk.

With a walk in Python, each waiting child copies 30 more of the template's pages and a fresh run takes a tenth longer:
docs/adr/0012-walk-in-machine-code.md.
"""

import ctypes
import errno
import mmap
import os
from collections.abc import Callable
from dataclasses import dataclass

from gristmill.sandbox.linux import kernel

MOST_CALLS = 160
ANY_RESULT = -1


class PreparedSyscall(ctypes.Structure):
    """One call. ``want`` is the only good result (or ANY), ``keep`` is the address to store it at (or 0). The walk continues
    ``on_ok`` bytes further; after a failure ``on_error`` bytes further, or, when that is 0, it ends there and leaves the failure
    in ``result``."""

    number: int
    args: "ctypes.Array[ctypes.c_long]"
    want: int
    keep: int
    on_ok: int
    on_error: int
    result: int
    _fields_ = [
        ("number", ctypes.c_long),
        ("args", ctypes.c_long * 6),
        *((name, ctypes.c_long) for name in ("want", "keep", "on_ok", "on_error", "result")),
    ]


CALL_BYTES = ctypes.sizeof(PreparedSyscall)

# A loop over the fields of ``PreparedSyscall``, for the machines that we have code for; on others Python makes the same walk.
_CODE = {
    "x86_64": bytes.fromhex(
        "53 55"  # push rbx; push rbp
        "4889fb 4889f5"  # mov rbx, rdi; mov rbp, rsi          rbx is the call, rbp the end
        "4839eb 7353"  # next: cmp rbx, rbp; jae stop
        "488b03 488b7b08 488b7310 488b5318"  # mov rax, [rbx]; mov rdi, [rbx+8]; mov rsi, [rbx+16]; mov rdx, [rbx+24]
        "4c8b5320 4c8b4328 4c8b4b30"  # mov r10, [rbx+32]; mov r8, [rbx+40]; mov r9, [rbx+48]
        "0f05"  # syscall
        "4885c0 781f"  # test rax, rax; js failed
        "488b4b38 4885c9 7805"  # mov rcx, [rbx+56]; test rcx, rcx; js fits          want
        "4839c8 751f"  # cmp rax, rcx; jne ended
        "488b4b40 4885c9 7402"  # fits: mov rcx, [rbx+64]; test rcx, rcx; jz good          keep
        "8901"  # mov [rcx], eax
        "48035b48 ebba"  # good: add rbx, [rbx+72]; jmp next          on_ok
        "488b4b50 4885c9 7405"  # failed: mov rcx, [rbx+80]; test rcx, rcx; jz ended          on_error
        "4801cb ebac"  # add rbx, rcx; jmp next
        "48894358"  # ended: mov [rbx+88], rax          result
        "4889d8 5d 5b c3"  # stop: mov rax, rbx; pop rbp; pop rbx; ret
        "53 55"  # fork: push rbx; push rbp          the second way in: the same walk, in a new process
        "4889fb 4889f5"  # mov rbx, rdi; mov rbp, rsi
        "4883ec08 ffd2 4883c408"  # sub rsp, 8; call rdx; add rsp, 8          the stack is aligned for libc
        "4898 4885c0 7489"  # cdqe; test rax, rax; jz next
        "48f7d8 5d 5b c3"  # neg rax; pop rbp; pop rbx; ret
    ),
}

_FORK_AT = 0x66
FORK_FAILED = 1


@dataclass(frozen=True, slots=True)
class SyscallWalker:
    """Two functions that make the calls from one address to another; both return the address where they stopped.

    ``fork`` makes the calls in a new process, which it forks by the function whose address is its third argument; in the old
    process it returns the negative pid, or FORK_FAILED.
    """

    walk: Callable[[int, int], int]
    fork: Callable[[int, int, int], int]


def load_native_walker() -> SyscallWalker | None:
    """Loads the walk in machine code; returns None where there is none for this machine or the host forbids new code."""
    code = _CODE.get(kernel.MACHINE)
    if code is None:
        return None
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        page.write(code)
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        kernel.make_syscall("mprotect", address, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_EXEC)
    except OSError:
        return None
    _pages.append(page)
    word = ctypes.c_long
    return SyscallWalker(
        ctypes.PYFUNCTYPE(word, word, word)(address), ctypes.PYFUNCTYPE(word, word, word, word)(address + _FORK_AT)
    )


_pages: list[mmap.mmap] = []
"""Pages of machine code, held for the life of the process."""


def _walk_in_python(at: int, end: int) -> int:
    """Makes the same walk as the machine code, in Python."""
    while at < end:
        call = PreparedSyscall.from_address(at)
        result = kernel.make_raw_syscall(call.number, *call.args)
        if result < 0:
            if not call.on_error:
                call.result = result
                return at
            at += call.on_error
            continue
        if call.want not in (ANY_RESULT, result):
            call.result = result
            return at
        if call.keep:
            ctypes.c_int.from_address(call.keep).value = result
        at += call.on_ok
    return at


def _fork_in_python(at: int, end: int, _: int) -> int:
    pid = kernel.fork()
    return _walk_in_python(at, end) if pid == 0 else -pid


PYTHON_WALKER = SyscallWalker(_walk_in_python, _fork_in_python)
"""The walker for machines without machine code."""


class SyscallBatch:
    """Calls under construction, which can then be walked once per child."""

    def __init__(self) -> None:
        self._calls = (PreparedSyscall * MOST_CALLS)()
        self._base = ctypes.addressof(self._calls)
        self._names: list[str] = []
        self._held: list[object] = []
        self.step = ""

    def add(
        self, name: str, *args: object, want: int = ANY_RESULT, skip_on_ok: int = 0, on_error_go_on: bool = False
    ) -> PreparedSyscall:
        """Adds a call to the current step. Text and structures are passed by address, and held here.

        Raises:
            KernelRefused: this machine has no such call.
        """
        if len(self._names) == MOST_CALLS:
            raise OSError(errno.E2BIG, "more calls than a batch holds")
        call = self._calls[len(self._names)]
        call.number = kernel.find_syscall_number(name)
        for place, arg in enumerate(args):
            call.args[place] = self._convert_argument(arg)
        call.want, call.on_ok, call.on_error = want, CALL_BYTES * (1 + skip_on_ok), CALL_BYTES if on_error_go_on else 0
        self._names.append(f"{self.step}: {name}")
        return call

    def store_result_at(self, call: PreparedSyscall, address: int) -> None:
        """Stores the call's result, a descriptor, at ``address`` once it is known."""
        call.keep = address

    def argument_address(self, call: PreparedSyscall, place: int) -> int:
        """Returns the address where an argument of a call is stored."""
        return ctypes.addressof(call) + 8 * (1 + place)

    def __len__(self) -> int:
        return len(self._names)

    def walk(self, walker: SyscallWalker, first: int = 0, end: int | None = None) -> None:
        """Makes the calls.

        Raises:
            KernelRefused: a call failed; the message names its step and the call.
        """
        self.check_complete(walker.walk(self.call_address(first), self.call_address(end)), end)

    def call_address(self, place: int | None) -> int:
        """Returns the address of a call; None stands for the end."""
        return self._base + CALL_BYTES * (len(self._names) if place is None else place)

    def check_complete(self, stopped: int, end: int | None = None) -> None:
        """Checks whether a walk that stopped at this address is complete.

        Raises:
            KernelRefused: it is not; the message names the step and the call that failed.
        """
        if stopped != self.call_address(end):
            place = (stopped - self._base) // CALL_BYTES
            number = -self._calls[place].result if self._calls[place].result < 0 else errno.EIO
            raise kernel.KernelRefused(number, f"{self._names[place]}: {os.strerror(number)}")

    def _convert_argument(self, arg: object) -> int:
        if isinstance(arg, int):
            return arg
        if arg is None:
            return 0
        held = ctypes.create_string_buffer(arg.encode()) if isinstance(arg, str) else arg
        self._held.append(held)
        return ctypes.addressof(held)  # pyright: ignore[reportArgumentType] - a ctypes value: the kernel wants its address
