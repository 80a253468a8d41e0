"""Removes a tree that hostile code has built: no link is followed, and no depth is too deep."""

import os
import stat

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_tree(folder: int, name: bytes) -> None:
    """Removes ``name`` in ``folder``: a file, a link or a folder. Inner folders are moved up before they are emptied.

    So there is never more than one level to walk: a tree of a hundred thousand levels needs no more stack than a flat one.
    """
    waiting, count = [name], 0
    while waiting:
        here = waiting.pop()
        if not _is_folder(folder, here):
            _unlink(folder, here)
            continue
        for inner in _unlink_files(folder, here):
            count += 1
            aside = b".removed-%d-%d" % (os.getpid(), count)
            if _move_up(folder, here, inner, aside):
                waiting.append(aside)
        try:
            os.rmdir(here, dir_fd=folder)
        except FileNotFoundError:
            pass
        except NotADirectoryError:
            _unlink(folder, here)


def _unlink_files(folder: int, name: bytes) -> list[bytes]:
    """Unlinks everything in the folder ``name`` that is not a folder; returns the names of the folders in it."""
    try:
        descriptor = _open_folder(folder, name)
    except OSError:
        return []  # it was removed or replaced meanwhile
    inner: list[bytes] = []
    try:
        for entry in os.listdir(descriptor):
            found = os.fsencode(entry)
            if _is_folder(descriptor, found):
                inner.append(found)
            else:
                _unlink(descriptor, found)
    finally:
        os.close(descriptor)
    return inner


def _open_folder(folder: int, name: bytes) -> int:
    """Opens the folder; if its mode denies us access, the mode is changed first."""
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except PermissionError:
        seen = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            os.chmod(f"/proc/self/fd/{seen}", 0o700)
        finally:
            os.close(seen)
        return os.open(name, _FOLDER, dir_fd=folder)


def _move_up(folder: int, name: bytes, inner: bytes, aside: bytes) -> bool:
    try:
        descriptor = _open_folder(folder, name)
        try:
            os.fchmod(descriptor, 0o700)
            os.close(_open_folder(descriptor, inner))
            os.rename(inner, aside, src_dir_fd=descriptor, dst_dir_fd=folder)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return False
    return True


def _is_folder(folder: int, name: bytes) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _unlink(folder: int, name: bytes) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass
