"""Landlock: a second wall around files, TCP and signals that needs no privilege and no namespace."""

import ctypes
import os

from gristmill.sandbox.linux import kernel

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
REMOVE_DIR, REMOVE_FILE, MAKE_DIR, MAKE_REG = 16, 32, 128, 256
MAKE_SOCK, MAKE_FIFO, MAKE_SYM, REFER, TRUNCATE = 512, 1024, 4096, 8192, 16384

ACCESS_RIGHTS = {
    "list": READ_DIR,
    "file": READ_FILE,
    "read": READ_FILE | READ_DIR,
    "execute": READ_FILE | READ_DIR | EXECUTE,
    "device": READ_FILE | WRITE_FILE,
    # Never device nodes, and never the execution of a file that the program itself wrote.
    "write": READ_FILE | READ_DIR | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SYM | MAKE_FIFO
    | MAKE_SOCK | REFER | TRUNCATE,
}  # fmt: skip
# A tool server may execute files that it wrote: what it starts is confined by the same rules.
ACCESS_RIGHTS["own"] = ACCESS_RIGHTS["write"] | EXECUTE
FILE_ONLY = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE

# The file rights that each ABI can handle.
_FILE_RIGHTS = {0: 0, 1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 4: 0x7FFF}


class _Attr(ctypes.Structure):
    _fields_ = [("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("access", ctypes.c_uint64), ("fd", ctypes.c_int32)]


def read_abi() -> int:
    """Returns the kernel's Landlock version, or 0 where there is none."""
    try:
        return kernel.make_syscall("landlock_create_ruleset", None, 0, 1)
    except kernel.KernelRefused:
        return 0


class LandlockRule(_PathRule):
    """One path and what may be done below it, in the kernel's layout."""


def make_rule(fd: int, access: str, version: int) -> LandlockRule:
    """Makes a rule for the folder or file that ``fd`` names; for a file it leaves out the rights that only folders have."""
    granted = resolve_rights(access, version)
    return LandlockRule(granted if _is_folder(fd) else granted & FILE_ONLY, fd)


def resolve_rights(access: str, version: int) -> int:
    """Returns the rights that ``access`` stands for, as far as this kernel version knows them."""
    return ACCESS_RIGHTS[access] & _get_file_rights(version)


def make_handled_rights(version: int, *, tcp: bool = True) -> ctypes.Structure:
    """Returns what is refused unless a rule allows it: all file rights, TCP (if ``tcp`` is set), signals, abstract sockets."""
    return _Attr(_get_file_rights(version), 3 if version >= 4 and tcp else 0, 3 if version >= 6 else 0)


def get_handled_size(version: int) -> int:
    """Returns how many bytes of ``handled`` this kernel version knows."""
    return 8 if version < 4 else 16 if version < 6 else 24


def restrict_process(rules: list[LandlockRule], version: int, *, tcp: bool = True) -> None:
    """Allows this process only ``rules`` from now on, and refuses all TCP if ``tcp`` is set."""
    ruleset = kernel.make_syscall(
        "landlock_create_ruleset", ctypes.byref(make_handled_rights(version, tcp=tcp)), get_handled_size(version), 0
    )
    try:
        for each in rules:
            kernel.make_syscall("landlock_add_rule", ruleset, 1, ctypes.byref(each), 0)
        kernel.make_syscall("landlock_restrict_self", ruleset, 0)
    finally:
        os.close(ruleset)


def _get_file_rights(version: int) -> int:
    return _FILE_RIGHTS.get(version, 0xFFFF)


def open_path(path: str) -> int:
    """Opens a descriptor that names ``path`` and grants no access."""
    return os.open(path, os.O_PATH | os.O_CLOEXEC)


def _is_folder(fd: int) -> bool:
    return os.fstat(fd).st_mode & 0o170000 == 0o040000
