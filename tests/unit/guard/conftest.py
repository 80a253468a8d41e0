"""An inbox of approvals with a clock that stands until it is moved."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from gristmill.guard.policy.approvals import Approvals
from gristmill.store.open_store import open_store


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Clock:
    now = 10_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def approvals(tmp_path: Path, clock: Clock) -> AsyncGenerator[Approvals]:
    store = await open_store(tmp_path)
    yield Approvals(store, clock)
    await store.close()
