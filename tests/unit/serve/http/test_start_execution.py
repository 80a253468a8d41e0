"""From an HTTP request to a run: the memory that it takes is counted for as long as it takes it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gristmill.config.tree import Config, StoreConfig
from gristmill.errors import Busy
from gristmill.runs.start_run import wait_for_outcome
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.http_door import HttpDoor, open_door
from gristmill.serve.http.limits.request_bodies import BodyBudget
from gristmill.serve.http.shapes.api_shapes import ExecuteRequest
from gristmill.serve.http.start_execution import begin_execution
from gristmill.testing import fake_runtime

pytestmark = pytest.mark.anyio

ANN = Principal(name="ann", tenant="acme", scopes=frozenset({"execute"}))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def opened(state: Path) -> AsyncGenerator[HttpDoor]:
    config = Config(store=StoreConfig(path=state))
    async with fake_runtime(config, serving=True) as runtime:
        yield open_door(runtime)


async def test_whoever_waits_for_a_background_run_that_finds_no_room_is_told_so(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        door.budget = BodyBudget(100)
        for code, context in (("#" * 80, {}), ("1", {"a": "x" * 80})):
            run, _ = await begin_execution(door, ANN, ExecuteRequest(code=code, context=context, background=True))
            with pytest.raises(Busy):
                async with asyncio.timeout(5):
                    await asyncio.shield(run.acknowledged)


async def test_what_comes_over_a_socket_is_held_against_the_same_budget(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        door.budget = BodyBudget(100)
        run, _ = await begin_execution(door, ANN, ExecuteRequest(code="1", context={"a": "x" * 80}), via="ws")
        with pytest.raises(Busy):
            await wait_for_outcome(door.served, run)
        run, _ = await begin_execution(door, ANN, ExecuteRequest(code="#" * 80))
        assert await wait_for_outcome(door.served, run)  # a request holds its own body
