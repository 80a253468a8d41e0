"""A real store, and a clock that stands still until it is moved."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from gristmill.store.base import Store
from gristmill.store.open_store import open_store


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[Store]:
    opened = await open_store(tmp_path / "store")
    yield opened
    await opened.close()


class Clock:
    """Time as a test says it is."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()
