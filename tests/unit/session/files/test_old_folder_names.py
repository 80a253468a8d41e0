"""Folders of early versions are found again, by the session that had them alone."""

import os
from pathlib import Path

import pytest

from gristmill.session.files.old_folder_names import has_old_folders, rename_old_folders
from gristmill.session.files.workspace import Workspaces, make_folder_name
from tests.unit.session.files.test_workspace import COLLIDING


def name_of_early_version(session: str) -> str:
    return make_folder_name(session)[:-52]


def leave_folder(root: Path, session: str) -> None:
    folder = root / name_of_early_version(session)
    folder.mkdir()
    (folder / "file").write_text(session)


def open_folder(root: Path, session: str) -> Path:
    return Workspaces(root=root, uid=os.geteuid(), gid=os.getegid()).make_folder(session)


@pytest.mark.requirement("T80")
def test_files_of_an_early_version_are_found_again(tmp_path: Path) -> None:
    sessions = ("ann", "Bob Smith", "~" + "0" * 64)
    for session in sessions:
        leave_folder(tmp_path, session)
    assert has_old_folders(tmp_path)
    rename_old_folders(tmp_path, sessions)
    rename_old_folders(tmp_path, sessions)
    assert [(open_folder(tmp_path, session) / "file").read_text() for session in sessions] == list(sessions)
    assert not has_old_folders(tmp_path)


@pytest.mark.requirement("T80")
def test_a_branch_of_an_early_version_still_works_in_the_folder_of_its_origin(tmp_path: Path) -> None:
    leave_folder(tmp_path, "trunk")
    (tmp_path / f"{name_of_early_version('branch')}.shares").write_text(name_of_early_version("trunk"))
    rename_old_folders(tmp_path, ("branch", "trunk"))
    assert open_folder(tmp_path, "branch") == open_folder(tmp_path, "trunk")
    assert (open_folder(tmp_path, "branch") / "file").read_text() == "trunk"
    assert not has_old_folders(tmp_path)


@pytest.mark.requirement("T80")
def test_a_folder_that_two_sessions_shared_is_given_to_neither(tmp_path: Path) -> None:
    one, other = COLLIDING
    assert name_of_early_version(one) == name_of_early_version(other)
    leave_folder(tmp_path, one)
    rename_old_folders(tmp_path, COLLIDING)
    assert [os.listdir(open_folder(tmp_path, session)) for session in COLLIDING] == [[], []]
    assert (tmp_path / name_of_early_version(one) / "file").read_text() == one


@pytest.mark.requirement("T80")
def test_a_link_and_a_folder_of_the_present_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / name_of_early_version("linked")).symlink_to(tmp_path / "elsewhere")
    leave_folder(tmp_path, "ann")
    (open_folder(tmp_path, "ann") / "file").write_text("new")
    rename_old_folders(tmp_path, ("linked", "ann"))
    assert not (tmp_path / make_folder_name("linked")).exists()
    assert (open_folder(tmp_path, "ann") / "file").read_text() == "new"


def test_a_state_folder_without_workspaces_has_none_of_an_early_version(tmp_path: Path) -> None:
    assert not has_old_folders(tmp_path / "missing")
