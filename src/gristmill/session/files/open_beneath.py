"""Opens paths below a folder that hostile code writes to.

The kernel refuses every path that leads out, even one made meanwhile.
"""

import ctypes
import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from gristmill.errors import NotFound, Refused
from gristmill.session.files.workspace_paths import CheckedPath

_OPENAT2 = 437  # the same on every architecture
_NO_XDEV, _NO_SYMLINKS, _BENEATH = 0x01, 0x04, 0x08
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ATTEMPTS = 16
_libc = ctypes.CDLL(None, use_errno=True)
_openat2_missing = [False]
"""Set to True for good when the kernel, or a seccomp filter around us, does not offer openat2."""


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


@contextmanager
def open_root(root: Path) -> Generator[int]:
    """Opens the workspace itself.

    Raises:
        NotFound: it does not exist.
        Refused: it is not a folder.
    """
    with translate_os_errors(CheckedPath(())):
        descriptor = os.open(root, _FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def open_path(root: int, path: CheckedPath, flags: int) -> Generator[int]:
    """Opens ``path`` below ``root``, never through a link. The ``flags`` must be such that opening never waits.

    Raises:
        NotFound: it does not exist.
        Refused: it is, or leads through, something that is neither a folder nor a file.
    """
    with translate_os_errors(path):
        descriptor = open_beneath(root, path, flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def open_file(root: int, path: CheckedPath) -> Generator[int]:
    """Opens a regular file that has only one name (hard link), for reading.

    Raises:
        NotFound: it does not exist.
        Refused: it is something else.
    """
    # Its kind is checked before it is opened: opening alone can have effects on a device or a pipe.
    with open_path(root, path, os.O_PATH | os.O_NOFOLLOW) as seen:
        before = _check_plain_file(seen, path)
    with open_path(root, path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW) as descriptor:
        after = _check_plain_file(descriptor, path)
        if (before.st_dev, before.st_ino) != (after.st_dev, after.st_ino):
            raise Refused(f"{path.printable} was exchanged while it was opened; try again", rule="file.race")
        yield descriptor


@contextmanager
def open_folder(root: int, path: CheckedPath) -> Generator[int]:
    """Opens a folder.

    Raises:
        NotFound: it does not exist.
        Refused: it is something else.
    """
    with open_path(root, path, _FOLDER) as descriptor:
        yield descriptor


def open_beneath(root: int, path: CheckedPath, flags: int) -> int:
    """Returns a descriptor for ``path``: by openat2 if the kernel offers it, otherwise folder by folder."""
    flags |= os.O_CLOEXEC
    if not _openat2_missing[0]:
        try:
            return _openat2(root, path.relative, flags)
        except OSError as error:
            if error.errno not in (errno.ENOSYS, errno.EPERM):
                raise
            _openat2_missing[0] = error.errno == errno.ENOSYS
    return open_by_walking(root, path, flags)


def open_by_walking(root: int, path: CheckedPath, flags: int) -> int:
    """Does the same without openat2: each part is opened in the folder before it, and no part may be a link."""
    if not path.parts:
        return os.open(b".", flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=root)
    here = os.dup(root)
    try:
        for part in path.parts[:-1]:
            inner = os.open(part, _FOLDER, dir_fd=here)
            os.close(here)
            here = inner
        return os.open(path.parts[-1], flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
    finally:
        os.close(here)


def _openat2(root: int, path: bytes, flags: int) -> int:
    how = _OpenHow(flags=flags, mode=0, resolve=_BENEATH | _NO_SYMLINKS | _NO_XDEV)
    number = errno.EAGAIN
    for _ in range(_ATTEMPTS):
        found = _libc.syscall(_OPENAT2, root, ctypes.c_char_p(path), ctypes.byref(how), ctypes.sizeof(how))
        if found >= 0:
            return int(found)
        number = ctypes.get_errno()
        if number != errno.EAGAIN:  # on EAGAIN a rename happened meanwhile and the kernel could not decide: try again
            break
    raise OSError(number, os.strerror(number))


def _check_plain_file(descriptor: int, path: CheckedPath) -> os.stat_result:
    status = os.fstat(descriptor)
    if stat.S_ISDIR(status.st_mode):
        raise Refused(f"{path.printable} is a folder, not a file", rule="file.kind")
    if not stat.S_ISREG(status.st_mode):
        raise Refused(f"{path.printable} is not a regular file (it is a link, pipe, socket or device)", rule="file.kind")
    if status.st_nlink != 1:
        raise Refused(
            f"{path.printable} has {status.st_nlink} names (hard links); only files with one are touched", rule="file.links"
        )
    return status


@contextmanager
def translate_os_errors(path: CheckedPath) -> Generator[None]:
    """Translates errors of the system to ours."""
    try:
        yield
    except FileNotFoundError:
        raise NotFound(f"there is no file {path.printable!r} in the workspace") from None
    except NotADirectoryError:
        raise Refused(f"{path.printable} is, or leads through, something that is not a folder", rule="file.kind") from None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EXDEV):
            raise Refused(f"{path.printable} is, or leads through, a link; links are never followed", rule="file.link") from None
        raise Refused(f"{path.printable} cannot be used: {error.strerror}", rule="file.system") from None
