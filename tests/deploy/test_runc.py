"""In a real container, run by the runtime of Docker and Kubernetes: the full level with our flags, the weaker one without."""

import json
import os
import platform
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.deploy.bundle import ENTRY, Bundle


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
    done = Bundle(place=place).run(ENTRY, "doctor", "--no-servers", "--json", GRISTMILL_SANDBOX__ISOLATION="namespaces")
    found = json.loads(done.stdout)
    assert (done.returncode, found["isolation"]) == (0, "namespaces"), done.stderr
    assert all(check["held"] for check in found["checks"])


def test_without_them_the_images_choice_is_the_weaker_level_and_its_promises_hold(place: Path) -> None:
    done = Bundle(place=place, has_flags=False).run(
        ENTRY, "doctor", "--no-servers", "--json", GRISTMILL_SANDBOX__ISOLATION="auto"
    )
    found = json.loads(done.stdout)
    assert (done.returncode, found["isolation"]) == (0, "landlock"), done.stderr
    assert all(check["held"] for check in found["checks"])


def test_without_them_the_full_level_is_refused_with_how_to_grant_it(place: Path) -> None:
    done = Bundle(place=place, has_flags=False).run(ENTRY, "doctor", "--no-servers", GRISTMILL_SANDBOX__ISOLATION="namespaces")
    assert done.returncode == 6
    assert "systempaths=unconfined" in done.stderr
