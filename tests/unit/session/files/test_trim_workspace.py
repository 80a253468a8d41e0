"""A workspace that holds too much loses what was changed last."""

import os
from pathlib import Path

import pytest

from gristmill.session.files.trim_workspace import trim_workspace

MB = 1 << 20


def fill(folder: Path, *names: str) -> None:
    """Makes files of one megabyte, each with a later time of change than the one before."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * MB)
        before = path.stat().st_ctime_ns
        while path.stat().st_ctime_ns == before and name != names[-1]:
            path.chmod(0o600)
        os.utime(path, (0, 0))


def list_files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


@pytest.mark.requirement("T84")
def test_what_was_changed_last_is_removed_first(tmp_path: Path) -> None:
    fill(tmp_path, "old", "inner/old", "inner/deep/new", "new")
    assert trim_workspace(tmp_path, most_bytes=2 * MB + 4096, most_files=100) == 2
    assert list_files(tmp_path) == {"old", "inner/old"}
    assert trim_workspace(tmp_path, most_bytes=2 * MB + 4096, most_files=100) == 0


@pytest.mark.requirement("T84")
def test_too_many_files_are_removed_down_to_the_limit(tmp_path: Path) -> None:
    fill(tmp_path, *(f"{number}" for number in range(8)))
    assert trim_workspace(tmp_path, most_bytes=100 * MB, most_files=5) == 3
    assert list_files(tmp_path) == {"0", "1", "2", "3", "4"}


@pytest.mark.requirement("T84")
def test_too_many_folders_go_all_together(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"d{number}").mkdir()
    trim_workspace(tmp_path, most_bytes=MB, most_files=10)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.requirement("T84")
def test_links_are_removed_and_not_followed_and_depth_is_no_way_to_hide(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "workspace"
    fill(outside, "file")
    folder.mkdir()
    (folder / "link").symlink_to(outside)
    (folder / "file-link").symlink_to(outside / "file")
    here = os.open(folder, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    trim_workspace(folder, most_bytes=0, most_files=0)
    assert (list(folder.iterdir()), (outside / "file").stat().st_size) == ([], MB)
    assert trim_workspace(tmp_path / "missing", most_bytes=0, most_files=0) == 0
