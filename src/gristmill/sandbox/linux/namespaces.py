"""Namespaces and identity: what a process can name, and who it is."""

import ctypes
import os

from gristmill.sandbox.linux import kernel

FLAGS = {
    "mount": 0x00020000,
    "cgroup": 0x02000000,
    "uts": 0x04000000,
    "ipc": 0x08000000,
    "user": 0x10000000,
    "pid": 0x20000000,
    "net": 0x40000000,
}


def unshare(names: list[str]) -> None:
    """Leave the named namespaces for new ones (a new pid namespace holds the next child, not the caller)."""
    kernel.call("unshare", sum(FLAGS[name] for name in names))


def enter_user(inside: int) -> None:
    """Become ``inside`` in a new user namespace that maps this one uid and gid only."""
    uid, gid = os.geteuid(), os.getegid()  # before: afterwards both read as the overflow id
    unshare(["user"])
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/gid_map", f"{inside} {gid} 1\n")
    _write("/proc/self/uid_map", f"{inside} {uid} 1\n")


def become(uid: int, gid: int) -> None:
    """Give up root for good."""
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    # setresuid clears it, and /proc/self would stay owned by root: the uid map could not be written.
    kernel.prctl(kernel.PR_SET_DUMPABLE, 1)


def set_hostname(name: str) -> None:
    """Name the machine that the jail believes to be on."""
    kernel.call("sethostname", name, len(name))


def die_with_parent(signal: int = 9) -> None:
    """Let the kernel kill us when our parent is gone."""
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal)


def no_new_privileges() -> None:
    """No exec will ever grant more than we have now."""
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)


class _CapHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


CAP_HEADER = _CapHeader(0x20080522, 0)
NO_CAPS = (ctypes.c_uint32 * 6)()


def drop_capabilities() -> None:
    """Empty the effective, permitted and inheritable sets."""
    kernel.call("capset", ctypes.byref(CAP_HEADER), ctypes.byref(NO_CAPS))


def _write(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)
