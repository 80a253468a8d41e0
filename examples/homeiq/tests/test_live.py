"""The data server on a real Home Assistant answers as from the database, and says what is wrong when it cannot."""

import re
import socket
import sys
from collections.abc import Awaitable, Callable, Generator
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from zoneinfo import ZoneInfo

import anyio
import pytest
from mcp.server.mcpserver.exceptions import ToolError
from tests.servers import home_assistant

from examples.homeiq.data import Data, live_data
from examples.homeiq.home import Home
from examples.homeiq.live import LiveData
from examples.homeiq.stored import open_records
from examples.opening import ROOT
from examples.serving import server_of
from gristmill import Runtime

pytestmark = pytest.mark.anyio
LIGHT = "light.kitchen_lights"
NOW = datetime.now(ZoneInfo(home_assistant.ZONE)).replace(tzinfo=None)
SPAN: dict[str, Any] = {"start": (NOW - timedelta(hours=1)).isoformat(), "end": (NOW + timedelta(hours=1)).isoformat()}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def house() -> Generator[home_assistant.HomeAssistant]:
    """A house with a light in the kitchen that was switched off and on again."""
    with home_assistant.server() as started:
        started.command("config/entity_registry/update", entity_id=LIGHT, area_id="kitchen")
        for service in ("turn_off", "turn_on"):
            started.service("light", service, entity_id=LIGHT)
        yield started


@pytest.fixture
def live(house: home_assistant.HomeAssistant) -> LiveData:
    return LiveData(Home(house.url, house.token))


async def eventually(ask: Callable[[], Awaitable[list[Any]]], count: int) -> list[Any]:
    """What is answered when ``count`` rows are there: the recorder writes a moment after things happen."""
    found: list[Any] = []
    for _ in range(400):
        found = await ask()
        if len(found) >= count:
            break
        await anyio.sleep(0.05)
    return found


async def test_the_tools_are_those_of_the_database(live: LiveData) -> None:
    def shape(tools: list[Any]) -> list[Any]:
        return [(tool.name, tool.input_schema, tool.output_schema, tool.annotations) for tool in tools]

    stored = await server_of("data", Data(open_records())).list_tools()
    assert shape(await server_of("data", live).list_tools()) == shape(stored)


async def test_devices_come_with_area_domain_and_unit(live: LiveData) -> None:
    devices = {row["entity_id"]: row for row in await live.get_devices()}

    assert len(devices) > 80
    assert devices[LIGHT] == {"entity_id": LIGHT, "name": "Kitchen Lights", "domain": "light", "area": "kitchen", "unit": ""}
    assert devices["sensor.outside_temperature"]["unit"] == "°C"
    assert await live.get_devices(area="Kitchen") == [devices[LIGHT]] == await live.get_devices(area="kitchen", domain="light")
    assert await live.get_devices(area="kitchen", domain="switch") == []


async def test_the_history_of_a_device_is_in_local_time_and_in_order(live: LiveData) -> None:
    rows = await eventually(lambda: live.query_device_history(LIGHT, **SPAN), 3)

    assert [row["state"] for row in rows] == ["on", "off", "on"]
    assert all(set(row) == {"entity_id", "at", "state"} and SPAN["start"] <= row["at"] < SPAN["end"] for row in rows)
    assert rows == sorted(rows, key=lambda row: row["at"])
    assert await live.query_device_history(LIGHT, **SPAN, limit=2) == rows[:2]
    assert await live.query_device_history(LIGHT, start="2001-01-01", end="2001-02-01") == []
    assert await live.query_device_history("light.nobody_has", **SPAN) == []
    assert await live.query_device_history(f"{LIGHT},light.bed_light", **SPAN) == []


async def test_events_are_found_by_area_domain_and_state(live: LiveData) -> None:
    found = await eventually(lambda: live.search_events(**SPAN, area="kitchen"), 2)

    assert [(row["entity_id"], row["state"]) for row in found] == [(LIGHT, "off"), (LIGHT, "on")]
    assert await live.search_events(**SPAN, area="kitchen", state="off") == found[:1]
    assert await live.search_events(**SPAN, domain="light", limit=1) == found[:1]
    assert await live.search_events(**SPAN, area="kitchen", domain="switch") == []


async def test_a_program_asks_the_live_house_through_the_gateway(
    house: home_assistant.HomeAssistant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)  # code runs as another user when we are root
    monkeypatch.setenv("HA_HTTP_URL", house.url)
    monkeypatch.setenv("HA_TOKEN", house.token)
    (text,) = re.findall(r"```toml\n(.*?)```", (ROOT / "examples" / "homeiq" / "README.md").read_text(), re.DOTALL)
    file = tmp_path / "gristmill.toml"
    file.write_text(f'{text.replace(".venv/bin/python", sys.executable)}cwd = "{ROOT}"\n[store]\npath = "{tmp_path / "state"}"\n')
    program = "from servers import home_data\n[d['name'] for d in home_data.get_devices(area='kitchen')]"

    async with Runtime.open(file) as runtime:
        outcome = await runtime.execute(program)

    assert (outcome.status, outcome.result) == ("ok", ["Kitchen Lights"])


async def test_a_moment_that_is_none_is_said(live: LiveData) -> None:
    with pytest.raises(ToolError, match="start is no moment in ISO 8601"):
        await live.search_events(start="yesterday", end="2026-01-01")


@pytest.mark.parametrize("tool", ["get_devices", "query_device_history"])
async def test_a_wrong_token_is_said_and_not_shown(house: home_assistant.HomeAssistant, tool: str) -> None:
    data = LiveData(Home(house.url, "sesame"))
    arguments = {} if tool == "get_devices" else {"entity_id": LIGHT, **SPAN}
    with pytest.raises(ToolError, match="refused the token in HA_TOKEN") as raised:
        await getattr(data, tool)(**arguments)

    assert "sesame" not in repr(raised.value)


async def test_a_house_that_is_not_there_is_said() -> None:
    data = LiveData(Home("http://127.0.0.1:1", "sesame"))
    for answer in (data.get_devices(), data.search_events(**SPAN)):
        with pytest.raises(ToolError, match=r"no Home Assistant answers at .*: check HA_HTTP_URL"):
            await answer


class SomethingElse(BaseHTTPRequestHandler):
    """Answers everything with a page."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<h1>Router</h1>")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing."""


async def test_something_else_at_the_address_is_said() -> None:
    with HTTPServer(("127.0.0.1", 0), SomethingElse) as other:
        Thread(target=other.serve_forever, args=(0.01,), daemon=True).start()
        data = LiveData(Home(f"http://127.0.0.1:{other.server_port}", "sesame"))
        for answer in (data.get_devices(), data.search_events(**SPAN)):
            with pytest.raises(ToolError, match="does not speak as Home Assistant does: check HA_HTTP_URL"):
                await answer
        other.shutdown()


async def test_a_house_that_never_answers_ends_at_the_limit() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        data = LiveData(Home(f"http://127.0.0.1:{silent.getsockname()[1]}", "sesame", seconds=0.2))
        for answer in (data.get_devices(), data.search_events(**SPAN)):
            with pytest.raises(ToolError, match=r"did not answer within 0\.2 s"):
                await answer


@pytest.mark.parametrize(
    ("url", "token", "said"),
    [
        ("http://house:8123", "", "belong together"),
        ("", "sesame", "belong together"),
        ("house:8123", "sesame", "HA_HTTP_URL is no address"),
        ("http://ann:sesame@house", "sesame", "HA_HTTP_URL is no address"),
        ("http://house:8123", "open\nsesame", "HA_TOKEN is no token"),
    ],
)
def test_settings_that_cannot_be_right_end_the_start(monkeypatch: pytest.MonkeyPatch, url: str, token: str, said: str) -> None:
    monkeypatch.setenv("HA_HTTP_URL", url)
    monkeypatch.setenv("HA_TOKEN", token)
    with pytest.raises(ValueError, match=said) as raised:
        live_data()

    assert "sesame" not in str(raised.value)
