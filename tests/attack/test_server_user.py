"""A confined server of a gateway that runs as root is another user, whom root's files do not belong to."""

import os
import pwd
import subprocess
from pathlib import Path

import pytest

from gristmill.errors import ConfigError
from gristmill.sandbox.confine.confine_server import Confinement, open_launcher

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="allowed: only root can become another user")


def run(program: str, *words: str, **wanted: object) -> subprocess.CompletedProcess[str]:
    confinement = Confinement(server="x", program=program, path="", cwd=Path("/"), **wanted)  # pyright: ignore[reportArgumentType]
    with open_launcher(confinement) as (command, folder):
        said = [word.replace("HOME", str(folder)) for word in words]
        return subprocess.run([*command, program, *said], capture_output=True, text=True, check=False, timeout=60)


@as_root
@pytest.mark.requirement("T78")
def test_a_confined_server_of_root_is_nobody_and_cannot_change_modes_of_roots_files(public: Path) -> None:
    victim = public / "roots"
    victim.write_text("x")
    victim.chmod(0o640)
    assert run("/usr/bin/id", "-u").stdout.split() == [str(pwd.getpwnam("nobody").pw_uid)]
    assert run("/usr/bin/id", "-G").stdout.split() == [str(pwd.getpwnam("nobody").pw_gid)]
    assert run("/bin/chmod", "0600", str(victim)).returncode != 0
    assert victim.stat().st_mode & 0o777 == 0o640
    assert run("/bin/chmod", "0600", str(victim), user="root").returncode == 0, "the control: root itself can"


@as_root
@pytest.mark.requirement("T78")
def test_its_own_folder_is_its_own_and_goes_with_it() -> None:
    done = run("/bin/sh", "-c", "echo hello > HOME/file && cat HOME/file && echo HOME")
    said, folder = done.stdout.split()
    assert (said, done.returncode) == ("hello", 0), done
    assert not Path(folder).parent.exists()


@as_root
@pytest.mark.requirement("T78")
def test_a_user_that_cannot_use_what_the_server_needs_is_refused_and_nobody_is_not_insisted_on(tmp_path: Path) -> None:
    room = tmp_path / "room"
    room.mkdir(mode=0o700)
    with pytest.raises(ConfigError, match=r"servers.x.confine.user: nobody cannot use "):
        run("/usr/bin/id", "-u", user="nobody", write=(str(room),))
    assert run("/usr/bin/id", "-u", write=(str(room),)).stdout.split() == ["0"]
    with pytest.raises(ConfigError, match="there is no user 'no-such-user'"):
        run("/usr/bin/id", user="no-such-user")


@pytest.mark.skipif(os.geteuid() == 0, reason="allowed: root can become every user")
@pytest.mark.requirement("T78")
def test_an_ordinary_user_stays_who_it_is_and_is_told_so() -> None:
    assert run("/usr/bin/id", "-u").stdout.split() == [str(os.geteuid())]
    with pytest.raises(ConfigError, match="only a gateway that runs as root"):
        run("/usr/bin/id", user="root")
