"""A file that is replaced is the old one or the new one, never a part of either."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from gristmill.atomic_file import replace_file, write_atomically


def test_the_file_holds_all_parts_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file.json"
    write_atomically(path, [b"one", memoryview(b" two")], sync=True)
    assert path.read_bytes() == b"one two"
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)


def test_a_failure_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text("old")

    def fail() -> Iterator[bytes]:
        yield b"half"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_atomically(path, fail())
    assert (path.read_text(), list(tmp_path.iterdir())) == ("old", [path])


def test_a_reader_sees_the_old_file_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "file.toml"
    path.write_text("old")
    with replace_file(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_text() == "old"
        assert Path(file.name).suffix == ".toml"
    assert path.read_text() == "new"


def test_the_longest_file_name_can_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / ("n" * os.pathconf(tmp_path, "PC_NAME_MAX"))
    write_atomically(path, [b"content"])
    assert path.read_bytes() == b"content"
