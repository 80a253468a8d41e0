"""When a workspace is measured, and what is counted."""

import asyncio
import mmap
import os
from pathlib import Path

import pytest

from gristmill.model import Limits
from gristmill.sandbox.jails import disk_watch, unlinked_files
from gristmill.sandbox.jails.disk_watch import DiskWatch, measure_folders
from gristmill.sandbox.jails.unlinked_files import list_unlinked_sizes

MB = 1 << 20
LIMITS = Limits(workspace_mb=20, file_mb=7)


class FreeSpace:
    """The free space of the file system, as the test says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bytes, self.measured = 1_000 * MB, 0
        monkeypatch.setattr(disk_watch, "_read_free_bytes", self.read)
        real = disk_watch.measure_folders

        def measure(folders: tuple[Path, ...], limits: Limits, processes: list[int]) -> disk_watch.Measured:
            self.measured += 1
            return real(folders, limits, processes)

        monkeypatch.setattr(disk_watch, "measure_folders", measure)

    def read(self, _folder: Path) -> int:
        return self.bytes


def fill(folder: Path, megabytes: int) -> None:
    for number in range(megabytes):
        (folder / f"{number}").write_bytes(b"x" * MB)


@pytest.mark.requirement("T83")
def test_the_end_of_a_run_is_measured_only_if_much_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    space, watch = FreeSpace(monkeypatch), DiskWatch((tmp_path,), LIMITS, list)
    fill(tmp_path, 21)
    space.bytes -= 16 * MB
    assert (asyncio.run(watch.look_after_run()), space.measured) == (None, 0)
    space.bytes -= 1
    assert (asyncio.run(watch.look_after_run()), space.measured) == ("workspace_mb", 1)


@pytest.mark.requirement("T83")
def test_the_next_measurement_comes_as_soon_as_the_rest_may_be_used_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    space = FreeSpace(monkeypatch)

    async def work() -> None:
        watch = DiskWatch((tmp_path,), LIMITS, list)
        fill(tmp_path, 15)
        assert watch() is None
        await measured(watch)
        monkeypatch.setattr(disk_watch.time, "monotonic", lambda: 0.0)  # the time of the next measurement never comes
        space.bytes -= 4 * MB
        assert watch() is None
        await measured(watch)
        assert space.measured == 1, "there is room for five megabytes more"
        fill(tmp_path, 21)
        space.bytes -= 2 * MB
        assert watch() is None
        await measured(watch)
        assert (watch(), space.measured) == ("workspace_mb", 2)

    asyncio.run(work())


async def measured(watch: DiskWatch) -> None:
    task = watch._task  # pyright: ignore[reportPrivateUsage]
    assert task is not None
    await task


def test_several_folders_count_together(tmp_path: Path) -> None:
    for name in ("workspace", "tmp"):
        (tmp_path / name).mkdir()
        fill(tmp_path / name, 11)
    assert measure_folders((tmp_path / "workspace",), LIMITS, []).room < 9 * MB + 1
    assert measure_folders((tmp_path / "workspace", tmp_path / "tmp"), LIMITS, []).exceeded == "workspace_mb"


@pytest.mark.requirement("T83")
@pytest.mark.parametrize("privileged", [True, False])
def test_a_file_that_is_only_mapped_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, privileged: bool) -> None:
    if privileged and os.geteuid() != 0:
        pytest.skip("the kernel tells only root how large a mapped file is")
    real = os.stat

    def refuse(path: str, **options: bool) -> os.stat_result:
        if "map_files" in str(path):
            raise PermissionError
        return real(path, **options)

    if not privileged:
        monkeypatch.setattr(unlinked_files.os, "stat", refuse)
    file = os.open(tmp_path / "f", os.O_CREAT | os.O_RDWR)
    os.write(file, b"x" * 3 * MB)
    os.fsync(file)
    first, second = (mmap.mmap(file, 4096) for _ in range(2))  # each keeps a descriptor of its own, which is looked at first
    os.unlink(tmp_path / "f")
    device = os.fstat(file).st_dev
    os.close(file)
    monkeypatch.setattr(unlinked_files, "_list_open", list_nothing)
    assert list(list_unlinked_sizes([os.getpid()], {device}, 7 * MB)) == [3 * MB if privileged else 7 * MB]
    assert list(list_unlinked_sizes([os.getpid()], {device + 1}, 7 * MB)) == []
    first.close()
    second.close()


def list_nothing(_pid: int) -> tuple[()]:
    return ()
