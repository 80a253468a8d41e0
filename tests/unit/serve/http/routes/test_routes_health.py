"""Ready is who can take executions: with a sandbox, with a store, and not at the end."""

import threading
from pathlib import Path

import pytest

from gristmill.config.tree import Config, SandboxConfig, StoreConfig
from gristmill.errors import StoreUnavailable, Unauthorized
from gristmill.runtime.open import readiness as readiness_checks
from gristmill.runtime.open.open_records import open_config_store
from gristmill.serve.access_tokens import CACHE_SECONDS, OUTAGE_SECONDS, TokenRegister
from gristmill.serve.http.http_door import open_door
from gristmill.serve.http.routes import routes_health
from gristmill.serve.http.routes.routes_health import Readiness
from gristmill.testing import FakePool, fake_runtime

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.requirement("T114")
async def test_what_is_missing_is_named_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes_health, "KNOWN_SECONDS", 0.0)
    pool = FakePool()
    async with fake_runtime(Config(store=StoreConfig(path=tmp_path), sandbox=SandboxConfig()), pool) as runtime:
        door = open_door(runtime)
        readiness = Readiness(door)
        assert (await readiness.describe()).status == "ok"
        pool.problem = "the template could not be prepared: /secret/place"
        view = await readiness.describe()
        assert (view.status, view.reason) == ("unavailable", "sandbox")
        pool.problem = None

        async def away(*_: object) -> None:
            raise StoreUnavailable("the store refused: no route to db.internal")

        with monkeypatch.context() as broken:
            broken.setattr(runtime._rooms.intake.store, "write", away)  # pyright: ignore[reportPrivateUsage]
            view = await readiness.describe()
            assert (view.status, view.reason) == ("unavailable", "store")
        with monkeypatch.context() as full:
            full.setattr(readiness_checks, "LEAST_FREE_BYTES", 1 << 80)
            view = await readiness.describe()
            assert (view.status, view.reason) == ("unavailable", "disk")
        with monkeypatch.context() as few:
            few.setattr(readiness_checks, "NEEDED_DESCRIPTORS", 1 << 20)
            view = await readiness.describe()
            assert (view.status, view.reason) == ("unavailable", "descriptors")
        assert (await readiness.describe()).status == "ok"
        door.draining = True
        assert (await readiness.describe()).status == "draining"


@pytest.mark.requirement("T114")
async def test_a_disk_that_does_not_answer_is_asked_once_and_is_no_ready_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes_health, "KNOWN_SECONDS", 0.0)
    monkeypatch.setattr(readiness_checks, "ANSWER_SECONDS", 0.05)
    asked, answers = [0], threading.Event()

    def hang(_folder: Path) -> None:
        asked[0] += 1
        answers.wait(30)

    async with fake_runtime(Config(store=StoreConfig(path=tmp_path), sandbox=SandboxConfig()), FakePool()) as runtime:
        readiness = Readiness(open_door(runtime))
        monkeypatch.setattr(readiness_checks, "find_lack_of_room", hang)
        for _ in range(3):
            assert (await readiness.describe()).reason == "disk"
        answers.set()
        while (await readiness.describe()).status != "ok":
            pass
    assert asked[0] <= 5


async def test_a_token_that_was_known_is_taken_while_the_store_is_away_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("gristmill.serve.access_tokens.time.monotonic", lambda: now[0])
    async with open_config_store(Config(store=StoreConfig(path=tmp_path))) as store:
        tokens = TokenRegister(store)
        known, _ = await tokens.create("ann")
        unknown, _ = await tokens.create("bob")
        await tokens.verify(known)

        async def away(*_: object) -> None:
            raise StoreUnavailable("away")

        monkeypatch.setattr(store, "read", away)
        now[0] = CACHE_SECONDS + 1
        assert (await tokens.verify(known)).name == "ann"
        with pytest.raises(Unauthorized):
            await tokens.verify(known[:-2] + "xx")
        with pytest.raises(StoreUnavailable):
            await tokens.verify(unknown)
        now[0] = CACHE_SECONDS + OUTAGE_SECONDS + 1
        with pytest.raises(StoreUnavailable):
            await tokens.verify(known)
