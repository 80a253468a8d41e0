"""Gives memory back to the kernel that a library read once and will hardly read again."""

import ctypes
from pathlib import Path

_PAGEOUT = 21
"""MADV_PAGEOUT: nothing is lost, because pages that are needed again are read again."""


def release_library_pages(library: str) -> None:
    """Releases the resident pages of the mapped file ``library``; does nothing where that is not possible."""
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        advise = ctypes.CDLL(None).madvise
    except (OSError, AttributeError):
        return  # not Linux
    advise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    for line in maps:
        if line.endswith(library):
            first, end = (int(place, 16) for place in line.split()[0].split("-"))
            advise(first, end - first, _PAGEOUT)
