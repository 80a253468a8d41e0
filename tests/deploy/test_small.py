"""256 MB and half a core are enough: the shipped configuration starts and works within them, and nobody is killed."""

import asyncio
import os
import tempfile
from pathlib import Path

import pytest
from bench.small import SETTINGS, ask, held, limited, start

from gristmill.sandbox.linux import cgroups


def can_limit() -> bool:
    """Whether groups can be made here; one is, and removed."""
    found = cgroups.prepare(f"gristmill-probe-{os.getpid()}")
    cgroups.remove_trees(found.unique())
    return found.version == "v1"


@pytest.mark.skipif(
    not can_limit(), reason="needs cgroups that are ours to write (version 1: of version 2 our own group would be left)"
)
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
