"""Faults around a running service. Tests with the mark ``thorough`` take long: `make test-faults` runs them, `make test` the others."""

import os
import subprocess
from collections.abc import Callable, Generator
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import psycopg
import pytest

from tests.e2e.http.conftest import new_state, service, starting
from tests.servers import postgres

PrepareStore = Callable[[str], None]

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


@pytest.fixture(scope="session")
def database() -> Generator[postgres.Server]:
    with postgres.server() as server:
        yield server


@pytest.fixture
def prepare_store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> PrepareStore:
    """Makes an empty store of a kind, and tells the services where it is."""

    def prepare(kind: str) -> None:
        if kind == "sqlite":
            return
        server: postgres.Server = request.getfixturevalue("database")
        schema = f"s{uuid4().hex}"
        url = server.url(schema).replace("${env:MILL_PASSWORD}", quote(postgres.PASSWORD, safe=""))
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {schema}")  # pyright: ignore[reportArgumentType, reportCallIssue]
        monkeypatch.setenv("GRISTMILL_TEST_STORE", url)

    return prepare
