"""Both stores: every test of this folder that asks for ``place`` runs on SQLite and on PostgreSQL."""

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import psycopg
import pytest

from gristmill.store.database import Database
from gristmill.store.open_store import open_store
from tests.servers import postgres


@dataclass(frozen=True, slots=True)
class Place:
    """Somewhere to open a store, as often as wanted."""

    folder: Path
    url: str | None

    async def open(self, *tables: str) -> Database:
        return await open_with(self.folder, tables, url=self.url)


async def open_with(folder: Path, tables: Iterable[str], **options: Any) -> Database:
    """Opens a store, and creates tables of the test's own in it."""
    store = await open_store(folder, **options)
    await store.write(*((table, ()) for table in tables))
    return store


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def postgres_server() -> Generator[postgres.Server]:
    with postgres.server() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: postgres.Server) -> str:
    schema = f"s{uuid4().hex}"
    url = postgres_server.url(schema).replace("${env:MILL_PASSWORD}", quote(postgres.PASSWORD, safe=""))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")  # pyright: ignore[reportArgumentType, reportCallIssue]
    return url


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    is_file = request.param == "sqlite"
    return Place(tmp_path, None if is_file else request.getfixturevalue("postgres_url"))
