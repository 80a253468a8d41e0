"""A real Home Assistant of the tests' own: demo devices, on a free loopback port, gone afterwards with all that it kept."""

import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from websockets.sync.client import ClientConnection, connect

from tests.servers import TOOLS

PROGRAM = TOOLS / "home-assistant" / "bin" / "hass"
START_SECONDS = 100.0
LAST_DEVICE = "light.kitchen_lights"
ZONE = "America/New_York"
"""Far from UTC, so that a moment in the wrong zone is seen."""

CONFIGURATION = """
homeassistant: {{name: Test, time_zone: {zone}, latitude: 40.7, longitude: -74.0, unit_system: metric}}
http: {{server_host: 127.0.0.1, server_port: {port}}}
api:
websocket_api:
auth:
config:
recorder: {{commit_interval: 0}}
history:
logbook:
demo:
"""


@dataclass(slots=True)
class HomeAssistant:
    """A running one, and a long-lived token that is not shown."""

    url: str
    token: str = field(repr=False)

    def service(self, domain: str, name: str, **fields: Any) -> None:
        """Do something in the house."""
        headers = {"Authorization": f"Bearer {self.token}"}
        httpx2.post(
            f"{self.url}/api/services/{domain}/{name}", json=fields, headers=headers, timeout=30, trust_env=False
        ).raise_for_status()

    def command(self, kind: str, **fields: Any) -> Any:
        """Ask something over the WebSocket."""
        with _socket(self.url, self.token) as ask:
            return ask({"type": kind, **fields})


@contextmanager
def server() -> Generator[HomeAssistant]:
    """Start one, make its owner and a token, and end it afterwards."""
    if not PROGRAM.exists():
        raise FileNotFoundError(f"{PROGRAM} is missing: run `python -m tests.servers` first")
    home, port = Path(tempfile.mkdtemp(prefix="gristmill-ha-", dir="/tmp")), _free_port()
    (home / "configuration.yaml").write_text(CONFIGURATION.format(zone=ZONE, port=port))
    url = f"http://127.0.0.1:{port}"
    with (home / "out").open("wb") as out:
        command = [str(PROGRAM), "--config", str(home), "--skip-pip"]
        environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environment, cwd=home, start_new_session=True)
    try:
        _wait(process, lambda: _answers(url), home / "out")
        house = HomeAssistant(url, _token(url))
        _wait(process, lambda: _has_devices(house), home / "out")
        yield house
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # what it kept is thrown away: it need not end in order
        process.wait(30)
        shutil.rmtree(home, ignore_errors=True)


def _wait(process: subprocess.Popen[bytes], done: Callable[[], bool], out: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        if done():
            return
        time.sleep(0.1)
    raise RuntimeError(f"Home Assistant did not start: {out.read_text()[-2_000:]}")


def _answers(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/api/onboarding", timeout=5, trust_env=False).status_code == 200
    except httpx2.TransportError:
        return False


def _has_devices(house: HomeAssistant) -> bool:
    """Tells whether the lights are registered: onboarding is answered before the demo devices are there."""
    return LAST_DEVICE in {entry["entity_id"] for entry in house.command("config/entity_registry/list")}


def _token(url: str) -> str:
    """The owner signs up, as the welcome page does it, and makes a long-lived token."""
    client, owner = f"{url}/", {"name": "T", "username": "t", "password": os.urandom(8).hex(), "language": "en"}
    with httpx2.Client(base_url=url, timeout=30, trust_env=False) as web:
        code = web.post("/api/onboarding/users", json={"client_id": client, **owner}).raise_for_status().json()["auth_code"]
        grant = {"client_id": client, "grant_type": "authorization_code", "code": code}
        short = web.post("/auth/token", data=grant).raise_for_status().json()["access_token"]
    with _socket(url, short) as ask:
        return str(ask({"type": "auth/long_lived_access_token", "client_name": "tests", "lifespan": 1}))


class _Ask:
    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)

    def __call__(self, message: Mapping[str, Any]) -> Any:
        self._socket.send(json.dumps({"id": next(self._numbers), **message}))
        answer = json.loads(self._socket.recv(timeout=30))
        assert answer["success"], answer
        return answer["result"]


@contextmanager
def _socket(url: str, token: str) -> Generator[_Ask]:
    with connect(f"ws{url.removeprefix('http')}/api/websocket", open_timeout=30, proxy=None) as socket:
        socket.recv(timeout=30)
        socket.send(json.dumps({"type": "auth", "access_token": token}))
        assert json.loads(socket.recv(timeout=30))["type"] == "auth_ok"
        yield _Ask(socket)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
