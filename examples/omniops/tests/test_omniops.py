"""A sync finds exactly what differs, and what is written stays in the process."""

from typing import Any

import pytest

from examples.omniops.commerce import Commerce
from examples.omniops.search import Search
from examples.omniops.seed import LAST_SYNC, PRODUCTS
from examples.omniops.shops.local import LocalShop
from examples.omniops.stored import open_copy_of, open_records
from examples.omniops.sync import Sync
from examples.records import Records


@pytest.fixture
def shop() -> Records:
    return open_copy_of(None)


def test_there_are_5000_products(shop: Records) -> None:
    assert sum(each["products"] for each in Search(shop).list_categories()) == PRODUCTS


@pytest.mark.parametrize("query", ["", "  ", '"', 'NEAR("', "a* OR", "name: x", "-", "'; DROP TABLE products"])
def test_no_query_is_an_error_or_an_operator(shop: Records, query: str) -> None:
    search = Search(shop)
    search.search_products(query)

    assert len(search.search_products("tent OR kettle")) == 20


def test_a_sync_counts_each_difference_and_a_second_one_finds_none(shop: Records) -> None:
    sync = Sync(shop, LocalShop(shop))
    dry = sync.sync_products(LAST_SYNC)
    wet = sync.sync_products(LAST_SYNC, apply=True)
    again = sync.sync_products(LAST_SYNC)

    assert dry["checked"] == 1_350
    assert dry["added"] == 150
    assert min(dry["changed"], dry["removed"], dry["unchanged"]) > 100
    assert wet == {**dry, "applied": True}
    assert again == {
        "checked": 1_350, "added": 0, "changed": 0, "removed": 0, "unchanged": 1_350, "changes": [], "applied": False,
    }  # fmt: skip


def test_a_sync_shows_ten_of_its_changes_with_what_was_and_what_is(shop: Records) -> None:
    changes = Sync(shop, LocalShop(shop)).sync_products(LAST_SYNC)["changes"]

    assert len(changes) == len({change["sku"] for change in changes}) == 10
    for change in changes:
        now = shop.one(dict[str, Any], "SELECT * FROM feed WHERE sku = :sku", sku=change["sku"])
        was = shop.rows(dict[str, Any], "SELECT * FROM products WHERE sku = :sku", sku=change["sku"])
        assert change["before"] == {field: was[0][field] for field in change["before"]}
        assert change["after"] == {field: now[field] for field in change["after"]}
        match change["kind"]:
            case "changed":
                assert change["before"].keys() == change["after"].keys()
                assert all(change["before"][field] != change["after"][field] for field in change["after"])
            case "added":
                assert (change["before"], bool(change["after"]), was) == ({}, True, [])
            case _:
                assert (change["kind"], change["after"], now["is_gone"]) == ("removed", {}, 1)


def test_a_long_text_of_the_supplier_is_shown_in_part(shop: Records) -> None:
    sku = shop.one(dict[str, Any], "SELECT sku FROM feed WHERE updated_at > :since ORDER BY id LIMIT 1", since=LAST_SYNC)["sku"]
    shop.change("UPDATE feed SET description = :text, is_gone = 0 WHERE sku = :sku", sku=sku, text="x" * 100_000)
    (change, *_) = Sync(shop, LocalShop(shop)).sync_products(LAST_SYNC)["changes"]

    assert change["after"]["description"] == "x" * 200


def test_what_a_sync_wrote_is_found_and_what_it_removed_is_not(shop: Records) -> None:
    sync = Sync(shop, LocalShop(shop))
    sync.sync_products(LAST_SYNC, apply=True)
    sql = "SELECT sku, name, is_gone FROM feed WHERE updated_at > ? AND (id > ? OR is_gone) ORDER BY id DESC"
    feed = shop.connection.execute(sql, (LAST_SYNC, PRODUCTS)).fetchall()
    new, gone = next(row for row in feed if not row["is_gone"]), next(row for row in feed if row["is_gone"])
    search = Search(shop)

    assert new["sku"] in {product["sku"] for product in search.search_products(new["name"], limit=30)}
    assert gone["sku"] not in {product["sku"] for product in search.search_products(gone["name"], limit=1_000)}
    kept = [{sku for (sku,) in shop.connection.execute(f"SELECT sku FROM {table}")} for table in ("products", "product_vectors")]
    assert kept[0] == kept[1]


def test_what_commerce_writes_stays_in_its_process(shop: Records) -> None:
    order = Commerce(LocalShop(shop)).list_orders("2026-01-01", "2026-12-31", status="completed", limit=1)[0]["id"]
    Commerce(LocalShop(shop)).refund_order(order, "broken")

    assert Commerce(LocalShop(shop)).get_order(order)["status"] == "refunded"
    assert Commerce(LocalShop(open_records(None))).get_order(order)["status"] == "completed"
