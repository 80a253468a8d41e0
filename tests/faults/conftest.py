"""Faults around a running service. Tests with the mark ``thorough`` take long: `make test-faults` runs them, `make test` the others."""

import os
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.e2e.http.conftest import new_state, service, starting

__all__ = ["new_state", "service", "starting"]


@pytest.fixture
def small_disk(tmp_path_factory: pytest.TempPathFactory, state: Path) -> Generator[Path]:
    """A state folder on a disk of its own, of 48 MB."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    folder = tmp_path_factory.mktemp("disk")
    folder.chmod(0o755)
    command = ["mount", "-t", "tmpfs", "-o", "size=48m,mode=755", "none", str(folder)]
    subprocess.run(command, check=True, timeout=20)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True, timeout=20)
