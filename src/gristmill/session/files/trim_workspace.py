"""Makes a workspace fit its limits again after a run that exceeded them: the files that were changed last are removed first."""

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from gristmill.session.files.remove_tree import remove_tree

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
MOST_DEPTH = 100
"""A folder that lies deeper is removed with all that is in it, like one that cannot be read."""

_Parts = tuple[bytes, ...]


class _Entry(Struct, frozen=True):
    changed: int
    folder: _Parts
    name: bytes
    bytes: int


def trim_workspace(root: Path, *, most_bytes: int, most_files: int) -> int:
    """Removes files until the rest fits; returns how many were removed.

    The time of a change is the kernel's (ctime), which programs cannot set: what the run wrote goes before what was there.
    """
    try:
        top = os.open(root, _FOLDER)
    except FileNotFoundError:
        return 0
    try:
        entries, folders = _list_entries(top)
        used, count, removed = sum(entry.bytes for entry in entries), len(entries) + folders, 0
        for entry in sorted(entries, key=lambda entry: entry.changed, reverse=True):
            if used <= most_bytes and count <= most_files:
                break
            with _open_inner(top, entry.folder) as folder:
                remove_tree(folder, entry.name)
            used, count, removed = used - entry.bytes, count - 1, removed + 1
        if count > most_files:  # nothing but folders is left
            for name in os.listdir(top):
                remove_tree(top, os.fsencode(name))
        return removed
    finally:
        os.close(top)


def _list_entries(top: int) -> tuple[list[_Entry], int]:
    """Lists everything that is not a folder; also returns the number of folders. What cannot be entered is removed."""
    entries, folders = list[_Entry](), 0
    waiting: list[_Parts] = [()]
    while waiting:
        place = waiting.pop()
        with _open_inner(top, place) as folder:
            for name in map(os.fsencode, os.listdir(folder)):
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if not stat.S_ISDIR(status.st_mode):
                    entries.append(_Entry(status.st_ctime_ns, place, name, status.st_blocks * 512))
                elif len(place) < MOST_DEPTH and _can_enter(folder, name):
                    folders += 1
                    waiting.append((*place, name))
                else:
                    remove_tree(folder, name)
    return entries, folders


def _can_enter(folder: int, name: bytes) -> bool:
    try:
        os.close(os.open(name, _FOLDER, dir_fd=folder))
    except OSError:
        return False
    return True


@contextmanager
def _open_inner(top: int, place: _Parts) -> Generator[int]:
    """Opens a folder below ``top`` step by step, so that no link on the way leads elsewhere."""
    here = os.dup(top)
    try:
        for name in place:
            inner = os.open(name, _FOLDER, dir_fd=here)
            os.close(here)
            here = inner
        yield here
    finally:
        os.close(here)
