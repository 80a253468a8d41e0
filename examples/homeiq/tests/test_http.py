"""The three servers over HTTP, behind the real gateway by their addresses."""

import socket
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

import httpx2
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


@pytest.mark.parametrize(
    "tool", ["query_device_history", "get_devices", "search_events", "detect_patterns", "generate_automation"]
)
def test_what_a_document_of_openapi_says_is_the_same_tools(ports: dict[int, int], tmp_path: Path, tool: str) -> None:
    usual = 8024 if tool in ("detect_patterns", "generate_automation") else 8006
    found = httpx2.get(f"http://127.0.0.1:{ports[usual]}/openapi.json").json()["paths"][f"/mcp/tools/{tool}"]["post"]
    assert (found["operationId"], found["x-read-only"]) == (f"{tool}_mcp_tools_{tool}_post", True)


def test_the_same_program_uses_the_routes_by_their_documents_without_a_question(ports: dict[int, int], tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)  # code runs as another user when we are root
    text = FILE.with_name("openapi.toml").read_text()
    for usual, port in ports.items():
        text = text.replace(f"127.0.0.1:{usual}/openapi.json", f"127.0.0.1:{port}/openapi.json")
    (tmp_path / "gristmill.toml").write_text(text)

    with BlockingRuntime(load_config(tmp_path / "gristmill.toml", store={"path": tmp_path / "state"})) as runtime:
        keys = sorted(tool.key for server in runtime.servers() for tool in runtime.list_tools(server.name))
        outcome = runtime.execute(PROGRAM)
        refused = runtime.execute("from servers import home_devices\nhome_devices.get_device_capabilities('light.nowhere')")

    assert keys == [
        "home_automation.detect_patterns",
        "home_automation.generate_automation",
        "home_data.get_devices",
        "home_data.query_device_history",
        "home_data.search_events",
        "home_devices.get_device_capabilities",
    ]
    assert (outcome.status, outcome.result) == ("ok", [10, 10, True])
    assert refused.status == "failed"
    assert "no such record" in str(refused.error)


def test_a_route_answers_json_and_says_what_is_wrong(ports: dict[int, int]) -> None:
    with httpx2.Client(base_url=f"http://127.0.0.1:{ports[8006]}") as client:
        assert client.get("/health").json() == {"status": "ok"}
        lights = client.post("/mcp/tools/get_devices", json={"domain": "light"}).json()
        assert (len(lights), lights[0]["domain"]) == (10, "light")
        assert client.post("/mcp/tools/get_devices", json={"domian": "light"}).status_code == 422
        assert client.post("/mcp/tools/query_device_history", json={}).status_code == 422
        assert client.post("/mcp/tools/nothing", json={}).status_code == 404
        # A page in a browser that lets a name of its own lead here is refused.
        assert client.post("/mcp/tools/get_devices", json={}, headers={"host": "evil.example"}).status_code == 400


@pytest.mark.parametrize("usual", [8006, 8024, 8028])
def test_without_a_number_the_usual_port_is_taken(usual: int) -> None:
    assert usual in SERVERS.values()
    assert arguments("x", port=usual).parse_args(["--http"]).http == usual
