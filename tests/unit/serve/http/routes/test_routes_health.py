"""Ready is who can take executions: with a sandbox, with a store, and not at the end."""

from pathlib import Path

import pytest

from gristmill.config.tree import Config, SandboxConfig, StoreConfig
from gristmill.errors import StoreUnavailable, Unauthorized
from gristmill.runtime.open.open_records import open_config_store
from gristmill.serve.access_tokens import AWAY_SECONDS, KNOWN_SECONDS, TABLES, Tokens
from gristmill.serve.http.http_door import open_door
from gristmill.serve.http.routes import routes_health
from gristmill.serve.http.routes.routes_health import Readiness
from gristmill.testing import FakePool, fake_runtime

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_what_is_missing_is_named_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes_health, "KNOWN_SECONDS", 0.0)
    pool = FakePool()
    async with fake_runtime(Config(store=StoreConfig(path=tmp_path), sandbox=SandboxConfig()), pool) as runtime:
        door = open_door(runtime)
        readiness = Readiness(door)
        assert (await readiness.view()).status == "ok"
        pool.problem = "the template could not be prepared: /secret/place"
        view = await readiness.view()
        assert (view.status, view.reason) == ("unavailable", "sandbox")
        pool.problem = None

        async def away(*_: object) -> None:
            raise StoreUnavailable("the store refused: no route to db.internal")

        monkeypatch.setattr(runtime._rooms.desk.store, "read", away)  # pyright: ignore[reportPrivateUsage]
        view = await readiness.view()
        assert (view.status, view.reason) == ("unavailable", "store")
        door.draining = True
        assert (await readiness.view()).status == "draining"


async def test_a_token_that_was_known_is_taken_while_the_store_is_away_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("gristmill.serve.access_tokens.time.monotonic", lambda: now[0])
    async with open_config_store(Config(store=StoreConfig(path=tmp_path)), TABLES) as store:
        tokens = Tokens(store)
        known, _ = await tokens.create("ann")
        unknown, _ = await tokens.create("bob")
        await tokens.verify(known)

        async def away(*_: object) -> None:
            raise StoreUnavailable("away")

        monkeypatch.setattr(store, "read", away)
        now[0] = KNOWN_SECONDS + 1
        assert (await tokens.verify(known)).name == "ann"
        with pytest.raises(Unauthorized):
            await tokens.verify(known[:-2] + "xx")
        with pytest.raises(StoreUnavailable):
            await tokens.verify(unknown)
        now[0] = KNOWN_SECONDS + AWAY_SECONDS + 1
        with pytest.raises(StoreUnavailable):
            await tokens.verify(known)
