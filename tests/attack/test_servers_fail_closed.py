"""A server that cannot be confined as its configuration wants is not started, and its state says what is missing and what to do."""

import errno
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from gristmill.config.tree import load_config
from gristmill.runtime.open.open_servers import open_servers
from gristmill.sandbox.linux.confined import confined_launcher as confined
from gristmill.upstream.base import ServerStatus
from gristmill.upstream.execution_callers import ExecutionCallers
from tests.attack.wall import PATIENCE

PROGRAMS = Path(__file__).parent / "programs"


def _server(folder: Path, **confine: Any) -> dict[str, Any]:
    """A confined server that leaves a mark when it runs."""
    (folder / "room").mkdir()
    code = f"open({str(folder / 'room' / 'mark')!r}, 'w'); exec(open({str(PROGRAMS / 'prying.py')!r}).read())"
    walls: dict[str, Any] = {"read": [str(PROGRAMS)], "write": [str(folder / "room")], **confine}
    return {"command": sys.executable, "args": ["-c", code], "era": "legacy", "confine": walls}


def _ran(folder: Path) -> bool:
    return (folder / "room" / "mark").exists()


async def row(folder: Path, **confine: Any) -> ServerStatus:
    """What becomes of the server here."""
    config = load_config(None, store={"path": str(folder / "state")}, servers={"pry": _server(folder, **confine)})
    async with open_servers(config, {}, ExecutionCallers()) as upstreams:
        await upstreams["pry"].wait_until_settled()
        return upstreams["pry"].status


def row_lacking(folder: Path, **deny: int) -> dict[str, Any]:
    """What becomes of the server on a machine that refuses the calls in ``deny``."""
    order = {"deny": deny, "state": str(folder / "state"), "server": _server(folder)}
    command = [sys.executable, "-B", str(PROGRAMS / "lacking_walls.py"), json.dumps(order)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.stdout, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.requirement("T41", "T50")
def test_on_a_machine_that_lacks_nothing_a_confined_server_is_ready(tmp_path: Path) -> None:
    assert row_lacking(tmp_path) == {"state": "ready", "error": None, "confined": True}
    assert _ran(tmp_path)


@pytest.mark.requirement("T41", "T50")
@pytest.mark.parametrize(
    "lack",
    [
        {"landlock_create_ruleset": errno.ENOSYS},
        {"landlock_create_ruleset": errno.EPERM},
        {"landlock_add_rule": errno.EPERM},
        {"landlock_restrict_self": errno.EPERM},
        {"seccomp": errno.ENOSYS},
        {"capset": errno.EPERM},
        {"prlimit64": errno.EPERM},
    ],
    ids=str,
)
def test_without_a_kernel_feature_a_confined_server_is_not_started(tmp_path: Path, lack: dict[str, int]) -> None:
    found = row_lacking(tmp_path, **lack)
    assert found["state"] == "failed"
    assert not _ran(tmp_path)
    assert "cannot be confined" in found["error"]
    assert "Linux 6.12" in found["error"]
    assert "remove [servers.pry.confine]" in found["error"]


@pytest.mark.requirement("T41", "T50")
def test_a_landlock_that_cannot_keep_signals_in_is_too_old(tmp_path: Path) -> None:
    program = f"""
import sys
sys.path.insert(0, {str(Path(confined.__file__).parents[4])!r})
from gristmill.sandbox.linux.confined import confined_launcher as confined, confined_profile as walls
profile = walls.ConfinedProfile(rules=[], network=False, filter=b"", remedy="Do this.")
sys.argv = ["", *profile.words(), "/bin/echo", "it ran"]
confined.landlock.read_abi = lambda: 5
confined.main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (confined.EXIT_FAILED, "")
    assert "version 6 is needed, this kernel has 5. Do this." in done.stderr


@pytest.mark.requirement("T41")
@pytest.mark.parametrize("field", ["read", "write"])
def test_a_path_that_is_not_there_is_named_with_its_field(tmp_path: Path, field: str) -> None:
    found = anyio.run(lambda: row(tmp_path, **{field: [str(PROGRAMS), "not/there"]}))
    assert found.state == "failed"
    assert not _ran(tmp_path)
    assert f"servers.pry.confine.{field}: not/there" in str(found.error)


@pytest.mark.requirement("T41")
@pytest.mark.parametrize("field", ["read", "write"])
@pytest.mark.parametrize("place", ["state", "state/upstreams", ".", "link"])
def test_no_path_opens_the_folder_of_the_gateway_itself(tmp_path: Path, field: str, place: str) -> None:
    (tmp_path / "state" / "upstreams").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "state")
    found = anyio.run(lambda: row(tmp_path, **{field: [str(tmp_path / place)]}))
    assert found.state == "failed"
    assert not _ran(tmp_path)
    assert f"servers.pry.confine.{field}" in str(found.error)
    assert "Gristmill's own folder" in str(found.error)
