"""Session names become folders, and never anything else."""

import os
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.errors import Refused, StoreUnavailable
from gristmill.session.files.workspace import Workspaces, make_folder_name

COLLIDING = ("A288c1bee2b23", "A8af459fb8271")


@given(st.text(min_size=1, max_size=128).filter(str.isprintable), st.text(min_size=1, max_size=128).filter(str.isprintable))
def test_any_name_is_one_safe_folder_of_its_own(one: str, other: str) -> None:
    names = make_folder_name(one), make_folder_name(other)
    assert all("/" not in name and name not in (".", "..") and name.isascii() and len(name) < 128 for name in names)
    assert (names[0] == names[1]) == (one == other)


@pytest.mark.parametrize("name", ["", "a" * 129, "a\nb", "a\0b", "\x1b[2J", "\u202e"])
def test_names_that_cannot_be_names_are_refused(name: str) -> None:
    with pytest.raises(Refused):
        make_folder_name(name)


def workspaces(root: Path) -> Workspaces:
    return Workspaces(root=root, uid=os.geteuid(), gid=os.getegid())


def test_a_folder_is_private_and_found_again(tmp_path: Path) -> None:
    folder = workspaces(tmp_path).make_folder("ann")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert workspaces(tmp_path).make_folder("ann") == folder


def test_a_link_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / make_folder_name("ann")).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refused):
        workspaces(tmp_path).make_folder("ann")


@pytest.mark.requirement("T80")
def test_a_folder_of_another_session_is_not_opened(tmp_path: Path) -> None:
    spaces, name = workspaces(tmp_path), make_folder_name("ann")
    spaces.make_folder("ann")
    assert (tmp_path / f"{name}.owner").read_text() == "ann"
    for owner in ("bob", "an", "ann ", "ann" * 1_000, ""):
        (tmp_path / f"{name}.owner").write_text(owner)
        with pytest.raises(Refused, match="belongs to another session"):
            spaces.make_folder("ann")
        with pytest.raises(Refused, match="belongs to another session"):
            spaces.share("ann", "branch")
    (tmp_path / f"{name}.owner").unlink()
    (tmp_path / f"{name}.owner").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreUnavailable, match="symbolic links"):
        spaces.make_folder("ann")


@pytest.mark.requirement("T80")
def test_names_whose_digests_begin_alike_have_folders_of_their_own() -> None:
    """This pair has 48 equal bits; it took minutes to find."""
    one, other = COLLIDING
    assert sha256(one.encode()).digest()[:6] == sha256(other.encode()).digest()[:6]
    assert make_folder_name(one) != make_folder_name(other)


def test_a_branch_works_in_its_origins_folder_also_later(tmp_path: Path) -> None:
    workspaces(tmp_path).share("trunk", "branch")
    assert workspaces(tmp_path).make_folder("branch") == workspaces(tmp_path).make_folder("trunk")


def test_a_removed_workspace_is_gone_with_everything_in_it_and_begins_anew(tmp_path: Path) -> None:
    spaces = workspaces(tmp_path)
    (spaces.make_folder("ann") / "tree").mkdir()
    (spaces.make_folder("bob") / "kept").touch()
    spaces.remove("ann")
    spaces.remove("never used")
    assert sorted(os.listdir(tmp_path)) == [make_folder_name("bob"), f"{make_folder_name('bob')}.owner"]
    assert os.listdir(spaces.make_folder("ann")) == []


def test_a_link_in_place_of_a_workspace_is_removed_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").touch()
    (tmp_path / make_folder_name("ann")).symlink_to(tmp_path / "elsewhere")
    workspaces(tmp_path).remove("ann")
    assert (os.listdir(tmp_path), os.listdir(tmp_path / "elsewhere")) == (["elsewhere"], ["file"])


def test_branches_keep_the_files_when_their_origin_is_removed(tmp_path: Path) -> None:
    spaces = workspaces(tmp_path)
    (spaces.make_folder("trunk") / "file").touch()
    for branch in ("left", "right"):
        spaces.share("trunk", branch)
    spaces.remove("trunk")
    assert [os.listdir(spaces.make_folder(name)) for name in ("left", "right", "trunk")] == [["file"], ["file"], []]


def test_removing_a_branch_leaves_the_files_to_its_origin(tmp_path: Path) -> None:
    spaces = workspaces(tmp_path)
    (spaces.make_folder("trunk") / "file").touch()
    spaces.share("trunk", "branch")
    spaces.remove("branch")
    assert [os.listdir(spaces.make_folder(name)) for name in ("trunk", "branch")] == [["file"], []]
