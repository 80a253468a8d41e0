"""Prepared system calls, made one after the other with nothing between them: a child that seals itself in Python would copy
two hundred of the template's pages and take three times as long. The first call that fails ends the walk."""

import ctypes
import errno
import mmap
import os
from collections.abc import Callable
from dataclasses import dataclass

from gristmill.sandbox.linux import kernel

MOST = 160
ANY = -1


class Call(ctypes.Structure):
    """One call. ``want`` is the only good result (or ANY), ``keep`` is where to store it (or 0); the walk goes on ``on_ok``
    bytes further, after a failure ``on_error`` bytes, or ends there when that is 0 and leaves what it got in ``result``."""

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


SIZE = ctypes.sizeof(Call)

# A loop over the fields of ``Call``, for the machines whose code we know; elsewhere Python makes the same walk.
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
class Walker:
    """Two ways to make the calls from one address to another, which both return where they stopped.

    ``fork`` makes them in a new process, entered by the function whose address is its third argument; the old one gets the
    negative pid, or FORK_FAILED.
    """

    walk: Callable[[int, int], int]
    fork: Callable[[int, int, int], int]


def native() -> Walker | None:
    """The walk in machine code; None where we have none or the host forbids new code."""
    code = _CODE.get(kernel.MACHINE)
    if code is None:
        return None
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        page.write(code)
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        kernel.call("mprotect", address, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_EXEC)
    except OSError:
        return None
    _pages.append(page)
    word = ctypes.c_long
    return Walker(ctypes.PYFUNCTYPE(word, word, word)(address), ctypes.PYFUNCTYPE(word, word, word, word)(address + _FORK_AT))


_pages: list[mmap.mmap] = []
"""Pages of code, held for as long as the process lives."""


def _walk(at: int, end: int) -> int:
    """The same in Python."""
    while at < end:
        call = Call.from_address(at)
        result = kernel.raw(call.number, *call.args)
        if result < 0:
            if not call.on_error:
                call.result = result
                return at
            at += call.on_error
            continue
        if call.want not in (ANY, result):
            call.result = result
            return at
        if call.keep:
            ctypes.c_int.from_address(call.keep).value = result
        at += call.on_ok
    return at


def _fork(at: int, end: int, _: int) -> int:
    pid = kernel.fork()
    return _walk(at, end) if pid == 0 else -pid


SLOW = Walker(_walk, _fork)
"""For machines whose code we do not know."""


class Batch:
    """Calls under construction, then ready to be walked as often as there are children."""

    def __init__(self) -> None:
        self._calls = (Call * MOST)()
        self._base = ctypes.addressof(self._calls)
        self._names: list[str] = []
        self._held: list[object] = []
        self.step = ""

    def add(self, name: str, *args: object, want: int = ANY, skip_on_ok: int = 0, on_error_go_on: bool = False) -> Call:
        """One more call of the current step. Text and structures are passed by address, and held here.

        Raises:
            KernelRefused: this machine has no such call.
        """
        if len(self._names) == MOST:
            raise OSError(errno.E2BIG, "more calls than a batch holds")
        call = self._calls[len(self._names)]
        call.number = kernel.number(name)
        for place, arg in enumerate(args):
            call.args[place] = self._word(arg)
        call.want, call.on_ok, call.on_error = want, SIZE * (1 + skip_on_ok), SIZE if on_error_go_on else 0
        self._names.append(f"{self.step}: {name}")
        return call

    def keep(self, call: Call, address: int) -> None:
        """Store the call's result, a descriptor, at ``address`` when it is known."""
        call.keep = address

    def argument(self, call: Call, place: int) -> int:
        """Where an argument of a call is stored."""
        return ctypes.addressof(call) + 8 * (1 + place)

    def __len__(self) -> int:
        return len(self._names)

    def walk(self, walker: Walker, first: int = 0, end: int | None = None) -> None:
        """Make the calls.

        Raises:
            KernelRefused: at the first that fails; the message names its step and the call.
        """
        self.check(walker.walk(self.at(first), self.at(end)), end)

    def at(self, place: int | None) -> int:
        """The address of a call; None is the end."""
        return self._base + SIZE * (len(self._names) if place is None else place)

    def check(self, stopped: int, end: int | None = None) -> None:
        """See whether a walk that stopped there is complete.

        Raises:
            KernelRefused: it is not; the message names the step and the call that failed.
        """
        if stopped != self.at(end):
            place = (stopped - self._base) // SIZE
            number = -self._calls[place].result if self._calls[place].result < 0 else errno.EIO
            raise kernel.KernelRefused(number, f"{self._names[place]}: {os.strerror(number)}")

    def _word(self, arg: object) -> int:
        if isinstance(arg, int):
            return arg
        if arg is None:
            return 0
        held = ctypes.create_string_buffer(arg.encode()) if isinstance(arg, str) else arg
        self._held.append(held)
        return ctypes.addressof(held)  # pyright: ignore[reportArgumentType] - a ctypes value: the kernel wants its address
