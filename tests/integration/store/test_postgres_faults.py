"""PostgreSQL that is restarted, cut off or misconfigured: the store comes back, repeats nothing and shows no password."""

import re

import pytest

from gristmill.errors import ConfigError, StoreUnavailable
from gristmill.store.open_store import open_store
from tests.integration.store.conftest import Place
from tests.servers import postgres

pytestmark = pytest.mark.anyio

TABLES = ("CREATE TABLE IF NOT EXISTS things (name TEXT PRIMARY KEY, size INTEGER)",)
CUT_AT_COMMIT = (
    (
        "CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END'"
    ),
    "CREATE CONSTRAINT TRIGGER cut AFTER INSERT ON things DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION cut()",
)


@pytest.fixture
def remote(tmp_path: object, postgres_url: str) -> Place:
    from pathlib import Path

    return Place(Path(str(tmp_path)), postgres_url)


async def test_a_restarted_server_is_used_again_by_the_next_read_and_write(
    remote: Place, postgres_server: postgres.Server
) -> None:
    store = await remote.open(*TABLES)
    await store.write(("INSERT INTO things VALUES ('a', 1)", ()))
    assert await store.read("SELECT name FROM things") == [("a",)]
    postgres_server.stop()
    postgres_server.start()
    await store.write(("INSERT INTO things VALUES ('b', 2)", ()))
    assert await store.read("SELECT name FROM things ORDER BY name") == [("a",), ("b",)]
    await store.close()


async def test_a_server_that_is_away_is_an_error_and_the_store_comes_back_with_it(
    remote: Place, postgres_server: postgres.Server
) -> None:
    store = await remote.open(*TABLES)
    postgres_server.stop()
    try:
        with pytest.raises(StoreUnavailable):
            await store.write(("INSERT INTO things VALUES ('a', 1)", ()))
        with pytest.raises(StoreUnavailable):
            await store.read("SELECT 1")
    finally:
        postgres_server.start()
    await store.write(("INSERT INTO things VALUES ('b', 2)", ()))
    assert await store.read("SELECT name FROM things") == [("b",)]
    await store.close()


async def test_a_connection_cut_during_a_commit_is_said_to_be_undecided_and_not_repeated(remote: Place) -> None:
    store = await remote.open(*TABLES)
    await store.write(*((sql, ()) for sql in CUT_AT_COMMIT))
    tried: list[int] = []
    with pytest.raises(StoreUnavailable, match="may or may not"):
        await store.change(lambda transaction: tried.append(1) or transaction.run("INSERT INTO things VALUES ('a', 1)"))
    assert tried == [1]
    assert await store.read("SELECT count(*) FROM things") == [(0,)]
    await store.close()


async def test_no_error_shows_the_password(remote: Place) -> None:
    assert remote.url is not None
    wrong = re.sub(r"mill:[^@]+@", "mill:hunter2@", remote.url)
    with pytest.raises(StoreUnavailable) as refused:
        await open_store(remote.folder, url=wrong)
    with pytest.raises(ConfigError) as misread:
        await open_store(remote.folder, url="postgresql://mill:hunter%ZZ2@host:port/")
    assert "hunter" not in str(refused.value) + str(misread.value) + repr(misread.value.__cause__)
