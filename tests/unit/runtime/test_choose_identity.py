"""Who asks is said in one of two ways, and both mean the same."""

import asyncio
from pathlib import Path

import pytest

from gristmill.config.tree import Config, StoreConfig
from gristmill.errors import ConfigError, UnknownSession
from gristmill.model import LOCAL_IDENTITY, Identity
from gristmill.runtime.choose_identity import choose_identity
from gristmill.runtime.runtime import Runtime
from gristmill.testing import fake_runtime

ANN = Identity(tenant="acme", caller="ann")


def test_an_identity_and_its_two_words_name_the_same_asker() -> None:
    assert choose_identity(None, caller="ann", tenant="acme") == choose_identity(ANN) == ANN
    assert choose_identity(None) == LOCAL_IDENTITY == Identity(tenant="local", caller="local")
    assert choose_identity(None, caller="ann") == Identity(tenant="local", caller="ann")
    assert choose_identity(None, tenant="acme") == Identity(tenant="acme", caller="local")


@pytest.mark.parametrize("words", [{"caller": "eve"}, {"tenant": "evil"}])
def test_two_ways_at_once_are_refused(words: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        choose_identity(ANN, **words)


def test_the_runtime_takes_both_and_a_session_belongs_to_one_asker(tmp_path: Path) -> None:
    async def use(runtime: Runtime) -> None:
        await runtime.execute("1", session="s", identity=ANN)
        await runtime.execute("1", session="s", caller="ann", tenant="acme")
        (session,) = await runtime.session_stores.sessions.list(identity=ANN)
        assert (session.name, session.owner) == ("s", ANN)
        with pytest.raises(UnknownSession):
            await runtime.drop_session("s", identity=Identity(tenant="acme", caller="bob"))
        await runtime.drop_session("s", identity=ANN)
        with pytest.raises(UnknownSession):
            await runtime.delete_session("s", identity=Identity(tenant="evil", caller="ann"))
        await runtime.delete_session("s", identity=ANN)

    async def run() -> None:
        async with fake_runtime(Config(store=StoreConfig(path=tmp_path))) as runtime:
            await use(runtime)

    asyncio.run(run())
