"""Disk: however a program takes space, the limit ends its run, and what is left on the host's disk fits the limit."""

import os
from pathlib import Path

import pytest

from gristmill import Outcome
from gristmill.session.files.workspace import make_folder_name
from tests.attack.wall import Wall, wait_until

MB = 1 << 20
LIMITS = {"workspace_mb": 50, "open_files": 256, "seconds": 20, "memory_mb": 256}
OVERSHOOT_MB = 1_000
"""What a test machine can write in one tick and one measurement, with much to spare; the attacks try to take far more."""

ALLOCATED = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
said = set()
for n in range(300):
    fd = os.open(f"f{n}", os.O_CREAT | os.O_RDWR)
    if libc.fallocate(fd, 0, ctypes.c_long(0), ctypes.c_long(100 << 20)):
        said.add(os.strerror(ctypes.get_errno()))
    os.close(fd)
said
"""
UNLINKED = {
    "mapped": "maps.append(libc.mmap(None, 1 << 12, 1, 1, fd, 0))",
    "open": "maps.append(os.dup(fd))",
    "mapped_private": "maps.append(libc.mmap(None, 1 << 12, 1, 2, fd, 0))",
}
HIDDEN = """
import ctypes, os, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
maps = []
for n in range(200):
    fd = os.open("f", os.O_CREAT | os.O_RDWR | os.O_TRUNC)
    os.unlink("f")
    for _ in range(10):
        os.write(fd, bytes(1 << 20))
    {hold}
    os.close(fd)
    n > 20 and time.sleep(0.02)
"""


def workspaces(wall: Wall) -> Path:
    return wall.runtime._opened_runtime()._rooms.session_stores.workspaces.root  # pyright: ignore[reportPrivateUsage]


def used_mb(wall: Wall, session: str) -> float:
    total = 0
    for folder, _, files in os.walk(workspaces(wall) / make_folder_name(session)):
        total += sum(os.lstat(os.path.join(folder, name)).st_blocks * 512 for name in files)
    return total / MB


def free_mb(wall: Wall) -> float:
    found = os.statvfs(workspaces(wall))
    return found.f_bfree * found.f_frsize / MB


def limited(outcome: Outcome) -> None:
    assert (outcome.status, outcome.limit) == ("limited", "workspace_mb"), outcome


@pytest.mark.requirement("T82")
@pytest.mark.parametrize("kept", [False, True], ids=["fresh", "kept"])
def test_space_cannot_be_taken_without_writing_it(wall: Wall, kept: bool) -> None:
    outcome = wall.run(ALLOCATED, session="allocated" if kept else None, limits=LIMITS)
    assert (outcome.status, outcome.result) == ("ok", ["Operation not supported"]), outcome
    assert used_mb(wall, "allocated") < 1


@pytest.mark.requirement("T82")
def test_libc_falls_back_where_a_program_asks_for_space_within_the_limit(wall: Wall) -> None:
    code = "import os\nfd = os.open('f', os.O_CREAT | os.O_RDWR)\nos.posix_fallocate(fd, 0, 5 << 20)\nos.stat('f').st_size"
    assert wall.run(code, session="asks", limits=LIMITS).result == 5 * MB


@pytest.mark.requirement("T83")
@pytest.mark.parametrize("way", UNLINKED)
def test_files_without_a_name_count_while_they_are_open_or_mapped(wall: Wall, way: str) -> None:
    before = free_mb(wall)
    limited(wall.run(HIDDEN.format(hold=UNLINKED[way]), session=f"hidden-{way}", limits=LIMITS))
    wait_until(lambda: before - free_mb(wall) < OVERSHOOT_MB, "the space is free again")
    assert wall.run("'maps' in globals()", session=f"hidden-{way}").result is False


@pytest.mark.requirement("T83")
def test_a_burst_that_ends_before_the_first_look_is_seen_at_its_end(wall: Wall) -> None:
    code = "import os\nfor n in range(8):\n    open(f'b{n}', 'wb').write(bytes(10 << 20))\n'done'"
    limited(wall.run(code, session="burst", limits=LIMITS))


@pytest.mark.requirement("T84")
def test_a_workspace_fits_its_limit_again_after_the_run_that_exceeded_it(wall: Wall) -> None:
    assert wall.run("open('mine', 'w').write('kept')", session="trimmed", limits=LIMITS).status == "ok"
    code = "import os\nos.makedirs('a/b')\nn = 0\nwhile True:\n    open(f'a/b/{n}', 'wb').write(bytes(5 << 20))\n    n += 1"
    limited(wall.run(code, session="trimmed", limits=LIMITS))
    assert used_mb(wall, "trimmed") <= LIMITS["workspace_mb"]
    outcome = wall.run(
        "import os\n(open('mine').read(), sum(map(len, (f for _, _, f in os.walk('.')))) < 12)", session="trimmed", limits=LIMITS
    )
    assert outcome.result == ["kept", True], outcome
