"""The three servers over HTTP, behind the real gateway by their addresses."""

import socket
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from examples.homeiq import automation, data, devices
from examples.opening import ROOT
from examples.serving import arguments
from gristmill import BlockingRuntime
from gristmill.config.tree import load_config

SERVERS = {"data": data.PORT, "automation": automation.PORT, "devices": devices.PORT}
FILE = Path(__file__).parents[1] / "http.toml"

PROGRAM = """
from servers import home_automation, home_data, home_devices
lights = [d["entity_id"] for d in home_data.get_devices(domain="light")]
able = [e for e in lights if home_devices.get_device_capabilities(e)["is_controllable"]]
yaml = home_automation.generate_automation("light.kitchen", "on", "06:50", ["mon"])["yaml"]
len(lights), len(able), yaml.startswith("alias: Kitchen on at 06:50")
"""


@pytest.fixture(scope="module")
def ports() -> Generator[dict[int, int]]:
    """The servers on free ports: the usual port of each, and where it is now."""
    found = {usual: _free_port() for usual in SERVERS.values()}
    command = [sys.executable, "-m"]
    started = [
        subprocess.Popen([*command, f"examples.homeiq.{name}", "--http", str(found[usual])], cwd=ROOT)
        for name, usual in SERVERS.items()
    ]
    try:
        for port, process in zip(found.values(), started, strict=True):
            _wait(port, process)
        yield found
    finally:
        for process in started:
            process.kill()
            process.wait(30)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 90
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"{process.args} does not answer")


def test_one_program_uses_all_three_servers_over_http(ports: dict[int, int], tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)  # code runs as another user when we are root
    text = FILE.read_text()
    for usual, port in ports.items():
        assert f"127.0.0.1:{usual}/mcp" in text
        text = text.replace(f"127.0.0.1:{usual}/mcp", f"127.0.0.1:{port}/mcp")
    (tmp_path / "gristmill.toml").write_text(text)

    with BlockingRuntime(load_config(tmp_path / "gristmill.toml", store={"path": tmp_path / "state"})) as runtime:
        outcome = runtime.execute(PROGRAM)

    assert (outcome.status, outcome.result) == ("ok", [10, 10, True])


@pytest.mark.parametrize("usual", [8006, 8024, 8028])
def test_without_a_number_the_usual_port_is_taken(usual: int) -> None:
    assert usual in SERVERS.values()
    assert arguments("x", port=usual).parse_args(["--http"]).http == usual
