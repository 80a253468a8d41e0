"""Memory that a library read once and will hardly read again is given back to the kernel."""

import ctypes
from pathlib import Path

_PAGEOUT = 21
"""MADV_PAGEOUT: nothing is lost by it, whatever is needed after all is read again."""


def give_back(library: str) -> None:
    """Let go of the resident pages of the file ``library`` where it is mapped; does nothing where that cannot be done."""
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
