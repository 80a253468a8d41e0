"""Mounts: the file tree that the jail sees, built by allow-list in an empty tmpfs."""

import ctypes
import os
import stat

from gristmill.sandbox.linux import kernel

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MNT_DETACH = 2
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
ATTR_RDONLY, ATTR_NOSUID, ATTR_NODEV, ATTR_NOEXEC = 1, 2, 4, 8
OLD_ROOT = "/.old"


class _MountAttr(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("attr_set", "attr_clr", "propagation", "userns_fd")]


def _mount(source: str, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    kernel.call("mount", source, target, kind, flags, options)


def _restrict(target: str, attributes: int, *, recursive: bool) -> None:
    attr = _MountAttr(attributes, 0, 0, 0)
    kernel.call("mount_setattr", AT_FDCWD, target, AT_RECURSIVE if recursive else 0, ctypes.byref(attr), ctypes.sizeof(attr))


def new_root(size: str) -> None:
    """Move into an empty tmpfs; the host's tree stays reachable at ``/.old`` until ``forget_old_root``."""
    _mount("none", "/", None, MS_REC | MS_PRIVATE)
    _mount("gristmill", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, f"mode=755,size={size}")
    os.mkdir("/tmp" + OLD_ROOT)
    os.chdir("/tmp")
    kernel.call("pivot_root", ".", OLD_ROOT[1:])
    os.chdir("/")


def bind(source: str, target: str, writable: bool = False, executable: bool = True) -> None:
    """Show one path of the host inside: read-only unless said otherwise, never with set-uid or devices."""
    origin = OLD_ROOT + source
    if os.path.isdir(origin):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o444))
    _mount(origin, target, None, MS_BIND | MS_REC)
    attributes = ATTR_NOSUID | ATTR_NODEV | (0 if writable else ATTR_RDONLY) | (0 if executable else ATTR_NOEXEC)
    _restrict(target, attributes, recursive=True)


def bind_device(name: str) -> None:
    """Show one harmless device node."""
    target = f"/dev/{name}"
    os.makedirs("/dev", exist_ok=True)
    os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o666))
    _mount(OLD_ROOT + target, target, None, MS_BIND)


def bind_proc() -> None:
    """Carry the host's /proc over: a fresh one may only be mounted where a full one is visible."""
    os.makedirs("/proc", exist_ok=True)
    _mount(OLD_ROOT + "/proc", "/proc", None, MS_BIND | MS_REC)


def symlink(target: str, path: str) -> None:
    """Make a symbolic link inside."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.symlink(target, path)


def folder(path: str) -> None:
    """Make a folder inside, to mount on."""
    os.makedirs(path, exist_ok=True)


def file(path: str, text: str) -> None:
    """Make a small file inside."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def forget_old_root() -> None:
    """Detach the host's tree: from here on nothing of it can be named."""
    kernel.call("umount2", OLD_ROOT, MNT_DETACH)
    os.rmdir(OLD_ROOT)


def seal_root() -> None:
    """Make the root itself read-only."""
    _restrict("/", ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV, recursive=False)


def cover(path: str) -> None:
    """Hide whatever is at ``path`` under an empty, read-only tmpfs."""
    kernel.call("mount", *covering(path))


def covering(path: str) -> tuple[str, str, str, int, str]:
    """The arguments of the mount that hides ``path``."""
    return "none", path, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, "size=4k,nr_inodes=2,mode=555"


PROC = ("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "subset=pid")
"""The arguments of the mount of a /proc of this pid namespace only."""


def fresh_proc() -> bool:
    """A /proc of this pid namespace only; under a masked outer one (containers) none at all."""
    try:
        kernel.call("mount", *PROC)
    except kernel.KernelRefused:
        return False
    return True


def is_folder(path: str) -> bool:
    """True for a real folder, false for a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False
