"""What processes occupy, as the kernel counts it: PSS, where shared pages are divided among those who share them."""

import os
from pathlib import Path


def tree(pid: int) -> dict[int, list[int]]:
    """``pid`` and everything below it, each with its direct children."""
    children = [int(word) for thread in _threads(pid) for word in _text(f"/proc/{pid}/task/{thread}/children").split()]
    found = {pid: children}
    for child in children:
        found |= tree(child)
    return found


def pss_mb(pid: int) -> float:
    """Raises OSError where the kernel does not let us look."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


def mappings(pid: int) -> dict[str, tuple[int, int, int]]:
    """Per mapping: kilobytes of its own, kilobytes it shares, and what PSS counts of both."""
    found: dict[str, tuple[int, int, int]] = {}
    name = ""
    for line in _text(f"/proc/{pid}/smaps").splitlines():
        words = line.split()
        if "-" in words[0] and not words[0].endswith(":"):
            name = words[5].rpartition("/")[2] if len(words) > 5 else "anonymous"
        elif words[0] in ("Private_Dirty:", "Shared_Dirty:", "Pss:"):
            own, shared, pss = found.get(name, (0, 0, 0))
            size = int(words[1])
            match words[0]:
                case "Private_Dirty:":
                    own += size
                case "Shared_Dirty:":
                    shared += size
                case _:
                    pss += size
            found[name] = (own, shared, pss)
    return found


def _threads(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii")
    except OSError:
        return ""
