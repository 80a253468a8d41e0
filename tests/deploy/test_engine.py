"""The image in a real engine: built by the Dockerfile, started with the flags of the compose file, asked, restarted, drained."""

import json
import os
import platform
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from typing import Any

import pytest
import yaml

from tests.deploy.contained import DEPLOY, ROOT
from tests.servers import engine as engines
from tests.servers.engine import BUILD_SECONDS, Engine

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(3_600)]
"""The first run makes the base image and builds ours: minutes."""
BASE = "python:3.11-slim-bookworm"
ANSWER_SECONDS = 60.0


@pytest.fixture(scope="module")
def engine() -> Generator[Engine]:
    if os.geteuid() != 0 or platform.machine() != "x86_64":
        pytest.skip("an engine needs root, and the profile of the image is written for x86_64")
    engines.fetch()
    with engines.start_engine() as running:
        engines.import_base(running, BASE)
        words = ("build", "--network", "host", "--file", str(DEPLOY / "Dockerfile"), "--tag", "gristmill:latest", str(ROOT))
        running.run(*words, seconds=BUILD_SECONDS)
        yield running


class Service:
    """The service of the compose file, started by hand with the same flags: there is no bridge here, so it uses the host's network."""

    def __init__(self, engine: Engine, port: int) -> None:
        self.engine, self.address = engine, f"http://127.0.0.1:{port}"
        given: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["gristmill"]
        flags = [f"--security-opt={each}" for each in given["security_opt"]]
        flags = [each.replace("./", f"{DEPLOY}/").replace("${GRISTMILL_APPARMOR:-unconfined}", "unconfined") for each in flags]
        flags += [f"--tmpfs={each}" for each in given["tmpfs"]] + [f"--cap-drop={each}" for each in given["cap_drop"]]
        flags += [
            "--read-only",
            f"--pids-limit={given['pids_limit']}",
            f"--memory={given['deploy']['resources']['limits']['memory']}",
        ]
        isolation = given["environment"]["GRISTMILL_SANDBOX__ISOLATION"]
        flags += [f"--env=GRISTMILL_SANDBOX__ISOLATION={isolation}", f"--env=GRISTMILL_SERVE__PORT={port}"]
        self.flags = [*flags, "--network=host", "--volume=state:/var/lib/gristmill"]
        # As the guide says: the first token is made before the service starts, since it does not start without one.
        made = engine.run(
            "run", "--rm", *self.flags, "gristmill:latest", "tokens", "create", "ann", "--scope", "execute", "--json"
        )
        self.token = json.loads(made.stdout)["token"]
        engine.run("run", "--detach", "--name=gristmill", *self.flags, "gristmill:latest")

    def ask(self, path: str, body: Any = None) -> Any:
        """Sends a request with the token, and returns the JSON of the answer."""
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        content = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(
            urllib.request.Request(self.address + path, content, headers), timeout=ANSWER_SECONDS
        ) as found:
            return json.loads(found.read())

    def wait_until_ready(self) -> None:
        """Waits until ``/ready`` is content."""
        until = time.monotonic() + ANSWER_SECONDS
        while True:
            try:
                self.ask("/ready")
            except (OSError, urllib.error.HTTPError):
                if time.monotonic() > until:
                    logs = self.engine.run("logs", "gristmill")
                    raise AssertionError(f"not ready: {logs.stdout[-2_000:]}{logs.stderr[-2_000:]}") from None
                time.sleep(0.2)
            else:
                return

    def gristmill(self, *words: str) -> Any:
        """Runs ``gristmill`` in the container as people do, with ``--json``."""
        return json.loads(self.engine.run("exec", "gristmill", "gristmill", *words, "--json").stdout)


@pytest.fixture(scope="module")
def service(engine: Engine) -> Service:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = Service(engine, port)
    running.wait_until_ready()
    return running


def test_the_image_answers_in_the_full_level(service: Service) -> None:
    outcome = service.ask("/execute", {"code": "import os\n(6 * 7, os.getuid() != 0)"})
    assert (outcome["status"], outcome["result"]) == ("ok", [42, True])
    found = service.gristmill("doctor", "--no-servers")
    assert found["isolation"] == "namespaces"
    assert all(check["held"] for check in found["checks"])


def test_nothing_of_the_engine_is_inside(service: Service) -> None:
    code = "import glob\nglob.glob('/run/*.sock') + glob.glob('/var/run/docker*') + glob.glob('/run/secrets/*')"
    assert service.ask("/execute", {"code": code})["result"] == []


def test_a_session_and_the_records_survive_a_restart(service: Service) -> None:
    service.ask("/execute", {"code": "open('kept.txt', 'w').write('still here')", "session": "lasting"})
    service.engine.run("restart", "--time", "40", "gristmill")
    service.wait_until_ready()
    assert service.ask("/execute", {"code": "open('kept.txt').read()", "session": "lasting"})["result"] == "still here"
    assert service.gristmill("audit", "verify")["ok"]


def test_the_health_check_of_the_image_is_content_and_sigterm_drains(service: Service) -> None:
    until = time.monotonic() + ANSWER_SECONDS
    state = ""
    while state != "healthy" and time.monotonic() < until:
        state = service.engine.run("inspect", "--format={{.State.Health.Status}}", "gristmill").stdout.strip()
        time.sleep(0.5)
    assert state == "healthy"
    service.engine.run("stop", "--time", "40", "gristmill")
    assert service.engine.run("inspect", "--format={{.State.ExitCode}}", "gristmill").stdout.strip() == "0"
    assert '"drained"' in service.engine.run("logs", "gristmill").stderr
    service.engine.run("start", "gristmill")  # tests run in any order
    service.wait_until_ready()
