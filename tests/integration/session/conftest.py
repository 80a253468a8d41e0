"""The store of these tests is PostgreSQL; those of SQLite are in ``tests/unit/session``."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from gristmill.store.base import Store
from gristmill.store.open_store import open_store
from tests.integration.store.conftest import anyio_backend, postgres_server, postgres_url
from tests.unit.session.conftest import clock

__all__ = ["anyio_backend", "clock", "postgres_server", "postgres_url"]


@pytest.fixture
async def store(tmp_path: Path, postgres_url: str) -> AsyncGenerator[Store]:
    opened = await open_store(tmp_path, url=postgres_url)
    yield opened
    await opened.close()
