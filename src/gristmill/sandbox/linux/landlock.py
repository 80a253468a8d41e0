"""Landlock: a second wall around files, TCP and signals that needs no privilege and no namespace."""

import ctypes
import os

from gristmill.sandbox.linux import kernel

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
REMOVE_DIR, REMOVE_FILE, MAKE_DIR, MAKE_REG = 16, 32, 128, 256
MAKE_SOCK, MAKE_FIFO, MAKE_SYM, REFER, TRUNCATE = 512, 1024, 4096, 8192, 16384

ACCESS = {
    "list": READ_DIR,
    "file": READ_FILE,
    "read": READ_FILE | READ_DIR,
    "execute": READ_FILE | READ_DIR | EXECUTE,
    "device": READ_FILE | WRITE_FILE,
    # No device nodes ever, and no exec of a file that the agent itself wrote.
    "write": READ_FILE | READ_DIR | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SYM | MAKE_FIFO
    | MAKE_SOCK | REFER | TRUNCATE,
}  # fmt: skip
# A server's program may start what it wrote: what it starts stands within the same walls.
ACCESS["own"] = ACCESS["write"] | EXECUTE
FILE_ONLY = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE

# What each ABI can handle: file rights, network rights, scopes.
_FS = {0: 0, 1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 4: 0x7FFF}


class _Attr(ctypes.Structure):
    _fields_ = [("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("access", ctypes.c_uint64), ("fd", ctypes.c_int32)]


def abi() -> int:
    """The kernel's Landlock version; 0 where there is none."""
    try:
        return kernel.call("landlock_create_ruleset", None, 0, 1)
    except kernel.KernelRefused:
        return 0


class Rule(_PathRule):
    """One path and what may be done below it, ready for the kernel."""


def rule(fd: int, access: str, version: int) -> Rule:
    """A rule for the folder or file that ``fd`` names; rights that files do not have are left out for them."""
    granted = rights(access, version)
    return Rule(granted if _is_folder(fd) else granted & FILE_ONLY, fd)


def rights(access: str, version: int) -> int:
    """What ``access`` means, as far as the kernel knows the words."""
    return ACCESS[access] & _handled(version)


def handled(version: int, *, tcp: bool = True) -> ctypes.Structure:
    """Everything that is refused unless a rule allows it: all file rights, TCP (or not), signals and abstract sockets."""
    return _Attr(_handled(version), 3 if version >= 4 and tcp else 0, 3 if version >= 6 else 0)


def handled_size(version: int) -> int:
    """How much of ``handled`` this kernel knows."""
    return 8 if version < 4 else 16 if version < 6 else 24


def restrict(rules: list[Rule], version: int, *, tcp: bool = True) -> None:
    """Allow only ``rules`` from here on, and no TCP at all unless it is not to be refused."""
    ruleset = kernel.call("landlock_create_ruleset", ctypes.byref(handled(version, tcp=tcp)), handled_size(version), 0)
    try:
        for each in rules:
            kernel.call("landlock_add_rule", ruleset, 1, ctypes.byref(each), 0)
        kernel.call("landlock_restrict_self", ruleset, 0)
    finally:
        os.close(ruleset)


def _handled(version: int) -> int:
    return _FS.get(version, 0xFFFF)


def open_path(path: str) -> int:
    """A descriptor that names ``path`` and grants nothing."""
    return os.open(path, os.O_PATH | os.O_CLOEXEC)


def _is_folder(fd: int) -> bool:
    return os.fstat(fd).st_mode & 0o170000 == 0o040000
