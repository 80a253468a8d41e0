"""In a real container, run by the runtime of Docker and Kubernetes: the full level with our flags, the weaker one without."""

import json
import os
import platform
import subprocess
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.bundle import Bundle
from tests.deploy.contained import DEPLOY
from tests.servers import oci


def said(instruction: str) -> list[str]:
    """The words that the image gives to an instruction such as ENTRYPOINT."""
    lines = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    (line,) = [line for line in lines if line.startswith(instruction)]
    return json.loads(line[line.index("[") :])


@pytest.fixture
def place() -> Generator[Path]:
    if os.geteuid() != 0 or platform.machine() != "x86_64":
        pytest.skip("a container needs root, and its profile is written for x86_64")
    # Not below pytest's own folder: that one is closed to other users.
    with tempfile.TemporaryDirectory(prefix="gristmill-oci-") as name:
        Path(name).chmod(0o755)
        able = Bundle(place=Path(name)).run("/usr/bin/true")
        if able.returncode:
            pytest.skip(f"no container can be run here: {able.stderr.strip()[-200:]}")
        yield Path(name)


def test_with_our_flags_every_promise_of_the_full_level_holds(place: Path) -> None:
    done = Bundle(place=place).run("gristmill", "doctor", "--no-servers", "--json", GRISTMILL_SANDBOX__ISOLATION="namespaces")
    found = json.loads(done.stdout)
    assert (done.returncode, found["isolation"]) == (0, "namespaces"), done.stderr
    assert all(check["held"] for check in found["checks"])


def test_without_them_the_images_choice_is_the_weaker_level_and_its_promises_hold(place: Path) -> None:
    done = Bundle(place=place, has_flags=False).run("gristmill", "doctor", "--no-servers", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["isolation"]) == (0, "landlock"), done.stderr
    assert all(check["held"] for check in found["checks"])


def test_without_them_the_full_level_is_refused_with_how_to_grant_it(place: Path) -> None:
    container = Bundle(place=place, has_flags=False)
    done = container.run("gristmill", "doctor", "--no-servers", GRISTMILL_SANDBOX__ISOLATION="namespaces")
    assert done.returncode == 6
    assert "systempaths=unconfined" in done.stderr


@pytest.fixture
def service(place: Path) -> Generator[tuple[Bundle, "subprocess.Popen[str]"]]:
    """The image as it starts by itself, with a key among its secrets, once its own health check is content."""
    (place / "secrets").mkdir(exist_ok=True)
    (place / "secrets" / "GRISTMILL_KEY").write_text("k" * 64)
    container = Bundle(place=place, tini=oci.tini())
    variables = {"GRISTMILL_STORE__KEY": "${env:GRISTMILL_KEY}", "GRISTMILL_TOKEN": "t" * 64}
    with container.running(*said("ENTRYPOINT"), *said("CMD"), **variables) as process:
        for _ in range(1_200):
            if "listening on" in (place / "log").read_text() or process.poll() is not None:
                break
            time.sleep(0.05)
        healthy = container.exec(*said("HEALTHCHECK"))
        assert healthy.returncode == 0, (place / "log").read_text() + healthy.stderr
        yield container, process


def test_every_gristmill_in_the_container_has_the_configuration_secrets_and_store_of_the_service(
    service: tuple[Bundle, "subprocess.Popen[str]"],
) -> None:
    container, _ = service

    def ask(*words: str) -> Any:
        done = container.exec("sh", "-c", 'cd /tmp && exec gristmill "$@" --json', "sh", *words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    made = ask("tokens", "create", "ann", "--scope", "execute")
    assert (container.place / "state" / "gristmill.db").exists()
    program = (
        "import json, urllib.request as web\n"
        "body, kind = b'{\"code\": \"6 * 7\"}', {'Content-Type': 'application/json', 'Authorization': 'Bearer TOKEN'}\n"
        "print(web.urlopen(web.Request('http://127.0.0.1:8030/execute', body, kind), timeout=30).read().decode())"
    )
    done = container.exec("python", "-c", program.replace("TOKEN", made["token"]))
    assert json.loads(done.stdout)["result"] == 42, done.stderr
    assert [one["caller"] for one in ask("audit", "list", "--kind", "execution")] == ["ann"]
    assert ask("audit", "verify")["ok"]
    assert not (container.place / "state" / "ledger.key").exists(), "it signs with the key of the service"


def test_what_others_leave_behind_is_buried_and_sigterm_drains(service: tuple[Bundle, "subprocess.Popen[str]"]) -> None:
    container, process = service
    left = container.exec("sh", "-c", "sleep 0.2 >/dev/null & echo $!").stdout.strip()
    assert left.isdigit()
    assert any(container.exec("test", "!", "-e", f"/proc/{left}").returncode == 0 for _ in range(100)), "it is a zombie"
    container.kill("TERM")
    assert process.wait(60) == 0
    assert '"drained"' in (container.place / "log").read_text()
