"""Bodies take a bounded part of the memory, as texts and as the values that they become."""

import sys
from pathlib import Path
from typing import Any, cast

import httpx2 as httpx
import msgspec
import pytest
from fastapi import FastAPI

from gristmill.config.tree import Config, StoreConfig
from gristmill.errors import Busy
from gristmill.serve.http.app import build_routes
from gristmill.serve.http.http_door import open_door
from gristmill.serve.http.limits.request_bodies import (
    LEAST_HELD,
    MOST_HELD,
    BodyBudget,
    compute_body_budget,
    estimate_value_bytes,
)
from gristmill.testing import fake_runtime

DENSE = ("[]", "[[]]", "{}", '{"a":1}', "1.5", "300", '"ab"', "null")


def test_a_tenant_may_have_as_much_as_is_left_for_all_others() -> None:
    budget = BodyBudget(100)
    budget.reserve_bytes(50, "greedy")
    with pytest.raises(Busy):
        budget.reserve_bytes(1, "greedy")
    budget.reserve_bytes(25, "second")
    budget.reserve_bytes(12, "third")
    budget.reserve_bytes(5, "whoever comes new")
    budget.release_bytes(50, "greedy")
    budget.reserve_bytes(29, "greedy")
    with pytest.raises(Busy):
        budget.reserve_bytes(1, "greedy")


@pytest.mark.parametrize("value", DENSE)
def test_what_values_take_is_never_underrated(value: str) -> None:
    body = f"[{','.join([value] * 1_000)}]".encode()
    assert estimate_value_bytes(body) + len(body) >= _size(msgspec.json.decode(body))


def _size(value: object) -> int:
    inner = cast("list[object]", value if isinstance(value, list) else [])
    if isinstance(value, dict):
        inner = [one for pair in cast("dict[object, object]", value).items() for one in pair]
    return sys.getsizeof(cast("object", value)) + sum(_size(one) for one in inner)


def test_there_is_an_eighth_of_the_memory_for_them_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[int] = []
    for memory in (128_000_000, 1_000_000_000, 64_000_000_000):
        monkeypatch.setattr("gristmill.serve.http.limits.request_bodies.read_available_memory", lambda memory=memory: memory)
        found.append(compute_body_budget())
    assert found == [LEAST_HELD, 125_000_000, MOST_HELD]


@pytest.mark.requirement("T45")
@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_small_body_of_too_many_values_is_refused_before_it_is_read(tmp_path: Path) -> None:
    async with fake_runtime(Config(store=StoreConfig(path=tmp_path))) as runtime:
        door = open_door(runtime)
        door.budget = BodyBudget(1_000_000)
        app = FastAPI()
        app.include_router(build_routes(door))
        transport = httpx.ASGITransport(app=app, client=("127.0.0.1", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            dense: dict[str, Any] = {"code": "1", "context": {"rows": [[] for _ in range(5_000)]}}
            answer = await client.post("/execute", json=dense)
            assert answer.status_code == 413
            assert "file of the session" in answer.json()["message"]
            plain = {"code": "1", "context": {"text": "x" * 400_000}}
            assert (await client.post("/execute", json=plain)).status_code == 200
        door.budget.reserve_bytes(500_000, "local")  # everything was given back
