"""The shop in a real PostgreSQL: every tool answers as over SQLite, and what is written stays."""

from collections.abc import Callable, Generator
from contextlib import closing
from typing import Any

import pytest
from mcp.server.mcpserver.exceptions import ToolError

from examples.omniops.analytics import Analytics
from examples.omniops.commerce import Commerce
from examples.omniops.conversations import Conversations
from examples.omniops.search import Search
from examples.omniops.seed import LAST_SYNC
from examples.omniops.shops.local import LocalShop
from examples.omniops.stored import URL, chosen_records, open_copy_of, open_postgres
from examples.omniops.sync import Sync
from examples.omniops.tests.test_analytics import FIGURES
from examples.omniops.tests.test_conversations import SUPPORT
from examples.omniops.tests.test_shops import ASKED, MISSING
from examples.records import Records


@pytest.fixture(scope="module")
def address(new_database: Callable[[], str]) -> str:
    return new_database()


@pytest.fixture(scope="module")
def postgres(address: str) -> Generator[Records]:
    records = open_postgres(address, is_read_only=False)
    with closing(records.database):
        yield records


@pytest.fixture(scope="module")
def sqlite() -> Records:
    return open_copy_of(None)


def test_every_reading_tool_answers_as_over_sqlite(postgres: Records, sqlite: Records) -> None:
    def answers(records: Records) -> list[Any]:
        commerce, analytics, sync = Commerce(LocalShop(records)), Analytics(records), Sync(records, LocalShop(records))
        search = Search(records)
        return [
            *(ask(commerce) for ask in ASKED.values()),
            *(ask(analytics) for ask in FIGURES.values()),
            analytics.monthly_report("2026-03"),
            *(ask(Conversations(records)) for ask in SUPPORT.values()),
            sync.list_feed(LAST_SYNC, 700, 40),
            sync.sync_products(LAST_SYNC),
            search.search_products("something to keep coffee hot", max_price=100),
            search.list_categories(),
        ]

    assert answers(postgres) == answers(sqlite)


@pytest.mark.parametrize("name", MISSING)
def test_what_is_not_there_is_the_same_error(postgres: Records, name: str) -> None:
    with pytest.raises(ToolError, match="no such record"):
        MISSING[name](Commerce(LocalShop(postgres)))


def test_what_is_written_is_there_for_the_next_server(new_database: Callable[[], str]) -> None:
    address = new_database()
    first, second = (open_postgres(address, is_read_only=False) for _ in range(2))
    tools = Commerce(LocalShop(first))
    order = tools.list_orders("2026-01-01", "2026-01-31", status="completed", limit=1)[0]["id"]
    tools.refund_order(order, "broken")
    written = Sync(first, LocalShop(first)).sync_products(LAST_SYNC, apply=True)

    assert written["added"] == 150
    assert Commerce(LocalShop(second)).get_order(order)["status"] == "refunded"
    assert Sync(second, LocalShop(second)).sync_products(LAST_SYNC)["unchanged"] == 1_350
    first.database.close()
    second.database.close()


def test_search_and_analytics_cannot_write_there(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(URL, address)
    records = chosen_records(None)

    with pytest.raises(ToolError, match="read-only"):
        records.change("DELETE FROM orders WHERE id = :id", id=1)
    records.database.close()


def test_an_address_that_leads_nowhere_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(URL, "postgresql://mill:hushhush@127.0.0.1:9/shop")

    with pytest.raises(SystemExit, match=URL) as caught:
        chosen_records(None)
    assert "hushhush" not in str(caught.value)
