"""Finds files that have no name any more and still take space on disk: a process has them open, or mapped into its memory."""

import os
from collections.abc import Collection, Iterator

_DELETED = " (deleted)"


def list_unlinked_sizes(processes: list[int], devices: Collection[int], most: int) -> Iterator[int]:
    """Yields the bytes on disk of each such file on one of ``devices``, each file once.

    The kernel tells only a privileged gateway how large a mapped file is. Otherwise it counts as ``most``, the largest size that
    a file may have: what cannot be measured must not be free.
    """
    seen: set[tuple[int, int]] = set()
    for pid in processes:
        for device, inode, size in (*_list_open(pid), *_list_mapped(pid, most)):
            if device in devices and (device, inode) not in seen:
                seen.add((device, inode))
                yield size


def _list_open(pid: int) -> Iterator[tuple[int, int, int]]:
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return  # the process ended meanwhile
    for name in names:
        try:
            status = os.stat(f"/proc/{pid}/fd/{name}")
        except OSError:
            continue
        if status.st_nlink == 0:
            yield status.st_dev, status.st_ino, status.st_blocks * 512


def _list_mapped(pid: int, most: int) -> Iterator[tuple[int, int, int]]:
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as lines:
            found = [line.split(None, 5) for line in lines if line.rstrip("\n").endswith(_DELETED)]
    except OSError:
        return
    for place, _, _, device, inode, _ in found:
        major, _, minor = device.partition(":")
        known = os.makedev(int(major, 16), int(minor, 16)), int(inode)
        try:
            status = os.stat(f"/proc/{pid}/map_files/{_shorten_place(place)}")
        except PermissionError:
            yield *known, most
        except OSError:
            continue  # unmapped meanwhile
        else:
            yield status.st_dev, status.st_ino, status.st_blocks * 512


def _shorten_place(place: str) -> str:
    """Returns the addresses as the kernel names them in map_files: without leading zeros."""
    return "-".join(f"{int(part, 16):x}" for part in place.split("-"))
