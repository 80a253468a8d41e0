"""Namespaces and identity: which objects a process can name, and which user it is."""

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
    """Moves into new namespaces of the named kinds (a new pid namespace holds the next child, not the caller)."""
    kernel.make_syscall("unshare", sum(FLAGS[name] for name in names))


def enter_user_namespace(inside: int) -> None:
    """Becomes the user ``inside`` in a new user namespace that maps only this one uid and gid."""
    uid, gid = os.geteuid(), os.getegid()  # read before unshare: afterwards both are the overflow id
    unshare(["user"])
    _write_proc_file("/proc/self/setgroups", "deny")
    _write_proc_file("/proc/self/gid_map", f"{inside} {gid} 1\n")
    _write_proc_file("/proc/self/uid_map", f"{inside} {uid} 1\n")


def become_user(uid: int, gid: int) -> None:
    """Gives up root for good."""
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    # setresuid clears this flag, and /proc/self would stay owned by root: the uid map could not be written.
    kernel.prctl(kernel.PR_SET_DUMPABLE, 1)


def set_hostname(name: str) -> None:
    """Sets the host name that the jail sees."""
    kernel.make_syscall("sethostname", name, len(name))


def die_with_parent(signal: int = 9) -> None:
    """Asks the kernel to kill this process when its parent has ended."""
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal)


def forbid_new_privileges() -> None:
    """Forbids that any later exec grants more privileges than the process has now."""
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)


class _CapHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


CAP_HEADER = _CapHeader(0x20080522, 0)
NO_CAPS = (ctypes.c_uint32 * 6)()


def drop_capabilities() -> None:
    """Empties the effective, permitted and inheritable capability sets."""
    kernel.make_syscall("capset", ctypes.byref(CAP_HEADER), ctypes.byref(NO_CAPS))


def _write_proc_file(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)
