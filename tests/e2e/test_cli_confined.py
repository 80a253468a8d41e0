"""A server within walls, seen by the command line: what runs confined and what does not, and why one was not started."""

import json
import re
import sys
from pathlib import Path

import pytest

from tests.e2e.test_cli import gristmill
from tests.servers import HERE

PROGRAM = f"command = {json.dumps(sys.executable)}\nargs = [{json.dumps(str(HERE / 'hostile.py'))}]\nera = 'legacy'\n"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("here")
    (folder / "gristmill.toml").write_text(f"""
[store]
path = {json.dumps(str(folder / "state"))}

[servers.free]
{PROGRAM}
[servers.walled]
{PROGRAM}confine = {{ read = [{json.dumps(str(HERE))}] }}

[servers.astray]
{PROGRAM}confine = {{ read = ["nowhere"] }}
""")
    return folder


@pytest.mark.requirement("T41")
def test_tools_says_which_servers_are_confined(here: Path) -> None:
    rows = {line.split()[0]: line for line in gristmill("tools", cwd=here).stdout.splitlines()[1:] if line[:1].isalpha()}
    assert "confined" in rows["walled"]
    assert "confined" not in rows["free"]
    listed = json.loads(gristmill("tools", "--json", cwd=here).stdout)
    assert {row["name"]: (row["state"], row["confined"]) for row in listed} == {
        "free": ("ready", False),
        "walled": ("ready", True),
        "astray": ("failed", True),
    }


@pytest.mark.requirement("T41")
def test_doctor_says_which_servers_are_confined_and_what_is_wrong_with_the_walls_of_one(here: Path) -> None:
    lines = " ".join(gristmill("doctor", cwd=here).stdout.split())
    assert re.search(r"server free: \d+ tools, not confined", lines)
    assert re.search(r"server walled: \d+ tools, confined", lines)
    assert "servers.astray.confine.read: nowhere: No such file or directory; make it, or take it off the list" in lines
