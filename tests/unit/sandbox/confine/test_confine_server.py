"""The profile of a confined server: what is in it, and what never is. No process is started here."""

from pathlib import Path

import pytest

from gristmill.errors import ConfigError
from gristmill.sandbox.confine import confine_server as confine
from gristmill.sandbox.confine.confine_server import LAUNCHER, Confinement, open_launcher
from gristmill.sandbox.linux.confined import confined_profile as walls


def _rules(wanted: Confinement) -> dict[str, str]:
    with open_launcher(wanted) as (command, _):
        profile, rest = walls.read_profile(command[command.index(str(LAUNCHER)) + 1 :])
        assert rest == []
        return dict(profile.rules)


def _wanted(folder: Path, **values: tuple[str, ...] | tuple[Path, ...]) -> Confinement:
    return Confinement(server="x", program="/bin/true", path="/usr/bin", cwd=folder, **values)  # pyright: ignore[reportArgumentType]


def test_paths_are_taken_from_the_working_directory_and_from_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("here", "home/notes"):
        (tmp_path / name).mkdir(parents=True)
    rules = _rules(_wanted(tmp_path, read=("here",), write=("~/notes",)))
    assert rules[str(tmp_path / "here")] == "execute"
    assert rules[str(tmp_path / "home" / "notes")] == "own"


def test_a_path_that_is_not_there_is_named_with_its_field(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"servers\.x\.confine\.write: gone"):
        _rules(_wanted(tmp_path, write=("gone",)))


def test_a_link_that_the_server_could_have_made_moves_no_wall(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "private" / "keys").mkdir(parents=True)
    (tmp_path / "room" / "link").symlink_to(tmp_path / "private")
    for text in ("room/link", "room/link/keys"):
        with pytest.raises(ConfigError, match=r"servers\.x\.confine\.read: room/link.* leads out of"):
            _rules(_wanted(tmp_path, read=(text,), write=("room",)))
    assert str(tmp_path / "private") in _rules(_wanted(tmp_path, read=("room/link",)))  # a link of the user's own is followed
    assert str(tmp_path / "room") in _rules(_wanted(tmp_path, read=("room",), write=("room",)))


def test_a_server_cannot_write_its_own_program(tmp_path: Path) -> None:
    program = tmp_path / "project" / "server"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    wanted = Confinement(server="x", program=str(program), path="/usr/bin", cwd=tmp_path, write=("project",))
    with pytest.raises(ConfigError, match="a part of the server's own program"):
        _rules(wanted)


def test_a_hidden_folder_within_what_is_always_open_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("opt/app/bin", "opt/gristmill/state", "opt/gristmill/bin"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setattr(confine, "SYSTEM", (str(tmp_path / "opt"),))
    rules = _rules(_wanted(tmp_path, hidden=(tmp_path / "opt" / "gristmill" / "state",)))
    ours = {path for path in rules if path.startswith(str(tmp_path))}
    assert ours == {str(tmp_path / "opt" / "app"), str(tmp_path / "opt" / "gristmill" / "bin")}


def test_a_home_within_what_is_always_open_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("opt/app", "opt/me/letters"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "opt" / "me"))
    monkeypatch.setattr(confine, "SYSTEM", (str(tmp_path / "opt"),))
    assert {path for path in _rules(_wanted(tmp_path)) if path.startswith(str(tmp_path))} == {str(tmp_path / "opt" / "app")}


def test_no_profile_opens_a_root_a_home_all_of_etc_or_all_of_proc(tmp_path: Path) -> None:
    assert not {"/", "/home", "/root", "/etc", "/proc", "/dev", "/tmp", "/var", "/run", str(Path.home())} & set(
        _rules(_wanted(tmp_path))
    )


def test_nothing_secret_is_on_the_command_line(tmp_path: Path) -> None:
    with open_launcher(_wanted(tmp_path)) as (command, folder):
        profile, _ = walls.read_profile(command[command.index(str(LAUNCHER)) + 1 :])
        assert command == (*command[: command.index(str(LAUNCHER)) + 1], *profile.words())
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not folder.exists()


def test_a_profile_is_read_as_it_was_written_and_the_command_after_it() -> None:
    rules = [("/a b", "read"), ("/odd\udcff", "own"), ("/3", "execute")]
    written = walls.ConfinedProfile(rules=rules, network=True, filter=b"\0\xff", remedy="Do this.")
    found, command = walls.read_profile([*written.words(), "/bin/echo", "2", "--"])
    assert (found.rules, found.network, found.filter, found.remedy) == (rules, True, b"\0\xff", "Do this.")
    assert command == ["/bin/echo", "2", "--"]
