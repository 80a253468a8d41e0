"""The three servers over HTTP, behind the real gateway by their addresses."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

import httpx2
import pytest
import yaml

from examples.homeiq import automation, data, devices
from examples.homeiq.tests.test_wishes import PROGRAM as PROGRAM_OF_A_MODEL
from examples.homeiq.tests.test_wishes import SAID
from examples.opening import ROOT
from examples.serving import arguments
from gristmill import BlockingRuntime
from gristmill.config.tree import load_config
from gristmill.testing import ModelAnswer, ModelServer
from gristmill.testing.model_answers import answer_by_turn

SERVERS = {"data": data.PORT, "automation": automation.PORT, "devices": devices.PORT}
EXECUTOR = 8030
FILE = Path(__file__).parents[1] / "http.toml"

PROGRAM = """
from servers import home_automation, home_data, home_devices
lights = [d["entity_id"] for d in home_data.get_devices(domain="light")]
able = [e for e in lights if home_devices.get_device_capabilities(e)["is_controllable"]]
yaml = home_automation.generate_automation("light.kitchen", "on", "06:50", ["mon"])["yaml"]
len(lights), len(able), yaml.startswith("alias: Kitchen on at 06:50")
"""


@pytest.fixture(scope="module")
def model() -> Generator[ModelServer]:
    with ModelServer(answer_by_turn([ModelAnswer(PROGRAM_OF_A_MODEL), SAID])) as opened:
        yield opened


@pytest.fixture(scope="module")
def ports(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Generator[dict[int, int]]:
    """The servers on free ports: the usual port of each, and where it is now. Wishes go to ``model``, programs to ``EXECUTOR``."""
    found = {usual: _free_port() for usual in (*SERVERS.values(), EXECUTOR)}
    folder = tmp_path_factory.mktemp("executor")
    _replace_ports(folder, "http.toml", found)
    named = {
        "HOMEIQ_MODEL": "openai:scripted", "OPENAI_BASE_URL": model.openai_url, "OPENAI_API_KEY": "none",
        "MCP_CODE_EXECUTOR_URL": f"http://127.0.0.1:{found[EXECUTOR]}",
    }  # fmt: skip
    command = [sys.executable, "-m"]
    started = [
        subprocess.Popen(
            [*command, f"examples.homeiq.{name}", "--http", str(found[usual])], cwd=ROOT, env={**os.environ, **named}
        )
        for name, usual in SERVERS.items()
    ]
    serve = ["gristmill", "serve", "--http", "--port", str(found[EXECUTOR]), "-c", str(folder / "gristmill.toml")]
    started.append(subprocess.Popen([*command, *serve], cwd=folder))
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


def _replace_ports(folder: Path, name: str, ports: dict[int, int]) -> None:
    """Writes the configuration ``name`` with the ports as they are now."""
    for each in (folder, *folder.parents[:2]):
        each.chmod(0o755)  # code runs as another user when we are root
    text = FILE.with_name(name).read_text()
    for usual in SERVERS.values():
        assert f"127.0.0.1:{usual}/" in text
        text = text.replace(f"127.0.0.1:{usual}/", f"127.0.0.1:{ports[usual]}/")
    (folder / "gristmill.toml").write_text(f'{text}\n[store]\npath = "{folder / "state"}"\n')


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
    _replace_ports(tmp_path, "http.toml", ports)

    with BlockingRuntime(load_config(tmp_path / "gristmill.toml", store={"path": tmp_path / "state"})) as runtime:
        outcome = runtime.execute(PROGRAM)

    assert (outcome.status, outcome.result) == ("ok", [11, 11, True])


@pytest.mark.parametrize(
    "tool", ["query_device_history", "get_devices", "search_events", "detect_patterns", "generate_automation", "write_automation"]
)
def test_what_a_document_of_openapi_says_is_the_same_tools(ports: dict[int, int], tmp_path: Path, tool: str) -> None:
    usual = 8006 if tool in ("query_device_history", "get_devices", "search_events") else 8024
    found = httpx2.get(f"http://127.0.0.1:{ports[usual]}/openapi.json").json()["paths"][f"/mcp/tools/{tool}"]["post"]
    assert (found["operationId"], found["x-read-only"]) == (f"{tool}_mcp_tools_{tool}_post", True)


def test_the_same_program_uses_the_routes_by_their_documents_without_a_question(ports: dict[int, int], tmp_path: Path) -> None:
    _replace_ports(tmp_path, "openapi.toml", ports)

    with BlockingRuntime(load_config(tmp_path / "gristmill.toml", store={"path": tmp_path / "state"})) as runtime:
        keys = sorted(tool.key for server in runtime.servers() for tool in runtime.list_tools(server.name))
        outcome = runtime.execute(PROGRAM)
        refused = runtime.execute("from servers import home_devices\nhome_devices.get_device_capabilities('light.nowhere')")

    assert keys == [
        "home_automation.detect_patterns",
        "home_automation.generate_automation",
        "home_automation.write_automation",
        "home_data.get_devices",
        "home_data.query_device_history",
        "home_data.search_events",
        "home_devices.get_device_capabilities",
    ]
    assert (outcome.status, outcome.result) == ("ok", [11, 11, True])
    assert refused.status == "failed"
    assert "no such record" in str(refused.error)


def test_a_wish_goes_from_the_service_to_the_executor_and_back_as_an_automation(
    ports: dict[int, int], model: ModelServer
) -> None:
    body = {"wish": "turn the porch light on when somebody comes home after sunset"}
    found = httpx2.post(f"http://127.0.0.1:{ports[8024]}/automations", json=body, timeout=60).json()

    assert (found["mode"], found["fallback"], found["answer"]) == ("code", None, SAID.text)
    assert yaml.safe_load(found["yaml"])["actions"] == [{"action": "light.turn_on", "target": {"entity_id": ["light.porch"]}}]
    assert found["tokens"]["used"] > 0
    assert found["tokens"]["direct"], "the executor's accounts say what direct calls would have cost"
    assert [request.wire for request in model.requests] == ["openai", "openai"]


def test_a_route_answers_json_and_says_what_is_wrong(ports: dict[int, int]) -> None:
    with httpx2.Client(base_url=f"http://127.0.0.1:{ports[8006]}") as client:
        assert client.get("/health").json() == {"status": "ok"}
        lights = client.post("/mcp/tools/get_devices", json={"domain": "light"}).json()
        assert (len(lights), lights[0]["domain"]) == (11, "light")
        assert client.post("/mcp/tools/get_devices", json={"domian": "light"}).status_code == 422
        assert client.post("/mcp/tools/query_device_history", json={}).status_code == 422
        assert client.post("/mcp/tools/nothing", json={}).status_code == 404
        # A page in a browser that lets a name of its own lead here is refused.
        assert client.post("/mcp/tools/get_devices", json={}, headers={"host": "evil.example"}).status_code == 400


@pytest.mark.parametrize("usual", [8006, 8024, 8028])
def test_without_a_number_the_usual_port_is_taken(usual: int) -> None:
    assert usual in SERVERS.values()
    assert arguments("x", port=usual).parse_args(["--http"]).http == usual
