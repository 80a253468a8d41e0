"""A control group that cannot be made leaves nothing behind."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from gristmill.sandbox.linux import cgroups
from gristmill.sandbox.linux.cgroups import CgroupHierarchy, ControlGroup


@pytest.mark.requirement("T115")
@pytest.mark.parametrize("allowed", range(5))
def test_a_group_that_finds_no_descriptors_closes_those_that_it_has_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, allowed: int
) -> None:
    folders = {name: str(tmp_path / name) for name in cgroups.CONTROLLERS}
    for folder in folders.values():
        Path(folder).mkdir()
    opened, closed = list[int](), list[int]()

    def open_few(*_: Any) -> int:
        if len(opened) >= allowed:
            raise OSError(errno.EMFILE, "Too many open files")
        opened.append(1_000 + len(opened))
        return opened[-1]

    with monkeypatch.context() as limited:
        limited.setattr(os, "open", open_few)
        limited.setattr(os, "close", closed.append)
        with pytest.raises(OSError, match="Too many open files"):
            ControlGroup(CgroupHierarchy("v1", folders), "run-1")
    assert (len(opened), sorted(closed)) == (allowed, opened)
    assert [path for folder in folders.values() for path in Path(folder).iterdir()] == []
