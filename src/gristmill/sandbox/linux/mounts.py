"""Mounts: builds the file tree that the jail sees, by an allow-list, in an empty tmpfs."""

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
    kernel.make_syscall("mount", source, target, kind, flags, options)


def _restrict_mount(target: str, attributes: int, *, recursive: bool) -> None:
    attr = _MountAttr(attributes, 0, 0, 0)
    kernel.make_syscall(
        "mount_setattr", AT_FDCWD, target, AT_RECURSIVE if recursive else 0, ctypes.byref(attr), ctypes.sizeof(attr)
    )


def enter_new_root(size: str) -> None:
    """Moves into an empty tmpfs; the host's tree stays reachable at ``/.old`` until ``forget_old_root``."""
    _mount("none", "/", None, MS_REC | MS_PRIVATE)
    _mount("gristmill", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, f"mode=755,size={size}")
    os.mkdir("/tmp" + OLD_ROOT)
    os.chdir("/tmp")
    kernel.make_syscall("pivot_root", ".", OLD_ROOT[1:])
    os.chdir("/")


def bind_path(source: str, target: str, writable: bool = False, executable: bool = True) -> None:
    """Makes one path of the host visible inside: read-only unless told otherwise, never with set-uid programs or devices."""
    origin = OLD_ROOT + source
    if os.path.isdir(origin):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o444))
    _mount(origin, target, None, MS_BIND | MS_REC)
    attributes = ATTR_NOSUID | ATTR_NODEV | (0 if writable else ATTR_RDONLY) | (0 if executable else ATTR_NOEXEC)
    _restrict_mount(target, attributes, recursive=True)


def bind_device(name: str) -> None:
    """Makes one harmless device node visible."""
    target = f"/dev/{name}"
    os.makedirs("/dev", exist_ok=True)
    os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o666))
    _mount(OLD_ROOT + target, target, None, MS_BIND)


def bind_proc() -> None:
    """Makes the host's /proc visible for now: the kernel allows a fresh one only where a complete one is visible."""
    os.makedirs("/proc", exist_ok=True)
    _mount(OLD_ROOT + "/proc", "/proc", None, MS_BIND | MS_REC)


def make_symlink(target: str, path: str) -> None:
    """Makes a symbolic link inside."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.symlink(target, path)


def make_folder(path: str) -> None:
    """Makes a folder inside, as a mount point."""
    os.makedirs(path, exist_ok=True)


def write_file(path: str, text: str) -> None:
    """Writes a small file inside."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def forget_old_root() -> None:
    """Detaches the host's tree: from then on no path leads to it."""
    kernel.make_syscall("umount2", OLD_ROOT, MNT_DETACH)
    os.rmdir(OLD_ROOT)


def seal_root() -> None:
    """Makes the root folder itself read-only."""
    _restrict_mount("/", ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV, recursive=False)


def cover_path(path: str) -> None:
    """Hides the content of ``path`` under an empty, read-only tmpfs."""
    kernel.make_syscall("mount", *make_cover_arguments(path))


def make_cover_arguments(path: str) -> tuple[str, str, str, int, str]:
    """Returns the arguments of the mount that hides ``path``."""
    return "none", path, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, "size=4k,nr_inodes=2,mode=555"


PROC_MOUNT = ("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "subset=pid")
"""The arguments of the mount that makes a /proc of this pid namespace only."""


def mount_fresh_proc() -> bool:
    """Mounts a /proc of this pid namespace only; returns False where an outer, masked /proc (in containers) forbids that."""
    try:
        kernel.make_syscall("mount", *PROC_MOUNT)
    except kernel.KernelRefused:
        return False
    return True


def is_folder(path: str) -> bool:
    """Returns True for a real folder, False for a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False
