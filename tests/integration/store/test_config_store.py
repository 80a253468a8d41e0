"""The configuration's store: its references become values, whatever is in them."""

import pytest

from gristmill.config.tree import Config, StoreConfig
from gristmill.errors import ConfigError
from gristmill.runtime.open.open_records import open_config_store
from tests.servers import postgres

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("is_whole", [False, True])
async def test_a_password_full_of_marks_reaches_the_database(
    is_whole: bool, postgres_server: postgres.Server, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILL_PASSWORD", postgres.PASSWORD)
    monkeypatch.setenv("MILL_URL", postgres_url)
    config = Config(store=StoreConfig(url="${env:MILL_URL}" if is_whole else postgres_server.url("public")))
    async with open_config_store(config) as store:
        assert await store.read("SELECT current_user") == [("mill",)]
    assert postgres.PASSWORD not in repr(config)


async def test_a_reference_to_nothing_is_an_error_of_the_configuration(postgres_server: postgres.Server) -> None:
    with pytest.raises(ConfigError):
        async with open_config_store(Config(store=StoreConfig(url=postgres_server.url("public")))):
            pass
