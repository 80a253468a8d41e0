"""Pages of a file that is mapped are let go of, and come back when they are read."""

import mmap
import re
from pathlib import Path

import pytest

from gristmill.shaping import release_memory as pages
from gristmill.shaping.release_memory import release_library_pages

SIZE = 64 * mmap.PAGESIZE


def resident(file: Path) -> int:
    """Kilobytes of ``file`` in this process's memory."""
    smaps = Path("/proc/self/smaps").read_text(encoding="utf-8", errors="surrogateescape")
    return sum(int(size) for size in re.findall(rf"{re.escape(str(file))}\n(?:[A-Z].*\n)*?Rss: +([0-9]+) kB", smaps))


def mapped(file: Path) -> mmap.mmap:
    """Such a file, all of it read."""
    file.write_bytes(b"x" * SIZE)
    with file.open("rb") as opened:
        pages = mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ, flags=mmap.MAP_PRIVATE)
    assert pages[:] == b"x" * SIZE
    return pages


def test_the_pages_of_that_file_leave_memory_and_those_of_others_stay(tmp_path: Path) -> None:
    ours, other = tmp_path / "library.so", tmp_path / "other.so"
    with mapped(ours) as read, mapped(other):
        before = resident(ours)
        release_library_pages("library.so")
        assert (before, resident(ours), resident(other)) == (SIZE // 1024, 0, SIZE // 1024)
        assert read[:] == b"x" * SIZE


def test_where_memory_cannot_be_looked_at_nothing_happens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing(_path: str) -> Path:
        return tmp_path / "missing"

    monkeypatch.setattr(pages, "Path", missing)
    release_library_pages("library.so")
