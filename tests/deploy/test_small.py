"""256 MB and half a core are enough: the shipped configuration starts and works within them, and nobody is killed."""

import asyncio
import os
import tempfile
from pathlib import Path

import httpx2
import pytest
import yaml
from bench.small import SETTINGS, ask, held, limited, start

from gristmill.sandbox.linux import cgroups, group_folders
from tests.deploy.contained import DEPLOY


def can_limit() -> bool:
    """Whether groups can be made here; one is, and removed."""
    found = cgroups.prepare_hierarchy(f"gristmill-probe-{os.getpid()}")
    group_folders.remove_group_trees(found.unique_folders())
    return found.version == "v1"


needs_cgroups = pytest.mark.skipif(
    not can_limit(), reason="needs cgroups that are ours to write (version 1: of version 2 our own group would be left)"
)


@needs_cgroups
def test_the_service_starts_and_executes_within_the_limits_of_a_small_machine() -> None:
    with limited(256, 0.5) as group, tempfile.TemporaryDirectory(prefix="gristmill-small-") as place:
        Path(place).chmod(0o755)
        process, url = start(group, Path(place), SETTINGS)
        try:
            took = asyncio.run(asyncio.wait_for(ask(url, 20, 2), 60))
            found = held(group, process.pid)
        finally:
            process.terminate()
            process.wait(60)
            assert process.stderr is not None
            process.stderr.close()
    assert len(took) == 20
    assert found["killed"] == 0
    assert found["peak_mb"] <= 256


async def take(url: str, programs: int, megabytes: int) -> list[str]:
    """How as many programs end that hold so much memory at the same time, as far as they are let."""
    code = f"import time\nheld = b'x' * ({megabytes} << 20)\ntime.sleep(1)\nlen(held)"
    async with httpx2.AsyncClient(base_url=url, timeout=60) as client:
        answers = await asyncio.gather(*(client.post("/execute", json={"code": code}) for _ in range(programs)))
    return [answer.json()["status"] for answer in answers]


@needs_cgroups
@pytest.mark.parametrize(("megabytes", "status"), [(60, "ok"), (100, "ok"), (400, "limited")])
def test_programs_that_use_all_that_they_may_leave_composes_service_alive(
    megabytes: int, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As in a container: no control groups of its own, and here nobody but this machine.
    told = {
        "SANDBOX__CGROUPS": "off",
        "SANDBOX__ISOLATION": "namespaces",
        "SERVE__HOST": "127.0.0.1",
        "SERVE__REQUIRE_TOKEN": "false",
    }
    for name, value in told.items():
        monkeypatch.setenv(f"GRISTMILL_{name}", value)
    limits = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["gristmill"]["deploy"]["resources"]["limits"]
    whole = int(limits["memory"].removesuffix("g")) << 10
    with limited(whole, float(limits["cpus"])) as group, tempfile.TemporaryDirectory(prefix="gristmill-small-") as place:
        Path(place).chmod(0o755)
        process, url = start(group, Path(place), DEPLOY / "container.toml")
        try:
            ended = asyncio.run(take(url, 30, megabytes))
            killed = held(group, process.pid)["killed"]
        finally:
            process.terminate()
            process.wait(60)
            assert process.stderr is not None
            process.stderr.close()
    assert (set(ended), killed) == ({status}, 0)
