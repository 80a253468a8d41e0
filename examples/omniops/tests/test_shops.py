"""Each tool of the commerce server gives the same answer over our database, WooCommerce and Shopify."""

from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from fastapi import Response
from fastapi.responses import JSONResponse
from mcp.server.mcpserver.exceptions import ToolError

from examples.omniops.commerce import Commerce
from examples.omniops.rows import Product
from examples.omniops.seed import LAST_SYNC
from examples.omniops.shops.chosen import open_shop
from examples.omniops.shops.shop import Shop
from examples.omniops.shops.shopify import ShopifyShop
from examples.omniops.shops.shopify_http import ShopifyApi
from examples.omniops.shops.woocommerce import WooCommerceShop
from examples.omniops.shops.woocommerce_http import WooCommerceApi
from examples.omniops.stored import open_copy_of, open_records
from examples.omniops.sync import Sync
from examples.omniops.tests import shopify_server, woocommerce_server
from examples.omniops.tests.conftest import KEYS, Shops
from examples.omniops.tests.serving import make_certificate, served

SPAN = ("2026-05-20", "2026-06-10")
ASKED: dict[str, Callable[[Commerce], Any]] = {
    "list_orders": lambda c: c.list_orders(*SPAN),
    "list_orders refunded": lambda c: c.list_orders(*SPAN, status="refunded"),
    "list_orders canceled": lambda c: c.list_orders(*SPAN, status="canceled"),
    "list_orders completed": lambda c: c.list_orders(*SPAN, status="completed", limit=150),
    "list_orders processing": lambda c: c.list_orders(*SPAN, status="processing"),
    "list_orders none": lambda c: c.list_orders("2020-01-01", "2020-01-31"),
    "get_order": lambda c: c.get_order(11_500),
    "get_orders_of_customer": lambda c: c.get_orders_of_customer(7),
    "get_orders_of_customer none": lambda c: c.get_orders_of_customer(99_999),
    "get_customer": lambda c: c.get_customer(7),
    "find_customers": lambda c: c.find_customers("cruz", limit=5),
    "find_customers by mail": lambda c: c.find_customers("lang1", limit=500),
    "get_inventory": lambda c: c.get_inventory(_sku(300)),
    "get_inventory none": lambda c: c.get_inventory("NO-SUCH"),
    "list_low_stock": lambda c: c.list_low_stock("lyon", limit=30),
    "get_shipment": lambda c: c.get_shipment(11_500),
    "get_shipment under way": lambda c: c.get_shipment(12_000),
    "list_shipments": lambda c: c.list_shipments(*SPAN),
    "list_shipments of one": lambda c: c.list_shipments(*SPAN, carrier="GLS", limit=20),
}
MISSING: dict[str, Callable[[Commerce], Any]] = {
    "get_order": lambda c: c.get_order(99_999),
    "get_customer": lambda c: c.get_customer(99_999),
    "get_shipment": lambda c: c.get_shipment(99_999),
    "update_stock": lambda c: c.update_stock(_sku(300), "atlantis", 5),
    "update_stock of nothing": lambda c: c.update_stock("NO-SUCH", "lyon", 5),
    "refund_order": lambda c: c.refund_order(99_999, "broken"),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_tool_gives_the_same_answer_over_every_shop(shops: Shops, name: str) -> None:
    local, woocommerce, shopify = (ASKED[name](Commerce(shop)) for shop in shops.each.values())

    assert local or name.endswith("none")
    assert woocommerce == local
    assert shopify == local


@pytest.mark.parametrize("name", MISSING)
def test_what_is_not_there_is_the_same_error_over_every_shop(shops: Shops, name: str) -> None:
    said = [str(_error(lambda shop=shop: MISSING[name](Commerce(shop)))) for shop in shops.each.values()]

    assert said == ["there is no such record, or it belongs to somebody else"] * 3


def test_what_is_written_is_read_back_from_every_shop(shops: Shops) -> None:
    order = Commerce(shops.local).list_orders(*SPAN, status="completed", limit=1)[0]["id"]
    sku = _sku(123)
    for shop in shops.each.values():
        tools = Commerce(shop)
        tools.update_stock(sku, "lyon", 77)
        tools.refund_order(order, "broken")

        assert {each["warehouse"]: each["on_hand"] for each in tools.get_inventory(sku)}["lyon"] == 77
        assert tools.get_order(order)["status"] == "refunded"
        assert "no such record" in str(_error(lambda tools=tools: tools.refund_order(order, "once more")))


def test_a_sync_finds_the_same_over_every_shop_and_reads_it_page_by_page(shops: Shops) -> None:
    seen: dict[str, list[str]] = {"woocommerce": shops.woocommerce.seen, "shopify": shops.shopify.seen}
    found: list[Any] = []
    for name, shop in shops.each.items():
        asked = seen.get(name, [])
        sync = _Watched(open_copy_of(None), shop, asked)
        asked.clear()
        found.append(sync.sync_products("2025-01-01"))

        assert sync.largest <= 250, "one page of ours is compared at a time"
        pages = "".join("c" if line == "compared" else "p" for line in asked)
        assert "pppp" not in pages, "no more pages are fetched than one comparison needs"
    assert found[0]["checked"] > 1_000
    assert found == [found[0]] * 3


def test_pages_of_the_feed_are_the_same_from_wherever_they_begin(shops: Shops) -> None:
    pages = [
        [Sync(open_copy_of(None), shop).list_feed(LAST_SYNC, offset, 130) for offset in (0, 130, 260, 90, 100_000)]
        for shop in shops.each.values()
    ]

    assert [len(page) for page in pages[0]] == [130, 130, 130, 130, 0]
    assert pages == [pages[0]] * 3


def test_a_later_page_of_a_feed_with_cursors_does_not_read_it_from_the_start(shops: Shops) -> None:
    sync = Sync(open_copy_of(None), shops.each["shopify"])
    for offset in (0, 100, 200):
        shops.shopify.seen.clear()
        sync.list_feed("2025-06-01", offset, 100)

        assert shops.shopify.seen == ["products"]


@pytest.mark.parametrize("kind", ["woocommerce", "shopify"])
def test_a_busy_shop_is_asked_again_when_it_says(shops: Shops, kind: str) -> None:
    shop, server, waits = _impatient(shops, kind)
    server.coming += [Response(status_code=429, headers={"Retry-After": "2.5"}), Response(status_code=503)]

    assert shop.order(11_500) == shops.local.order(11_500)
    assert waits == [2.5, 2.0]


@pytest.mark.parametrize("kind", ["woocommerce", "shopify"])
def test_a_shop_that_stays_busy_is_an_error_and_not_a_wait_for_ever(shops: Shops, kind: str) -> None:
    shop, server, waits = _impatient(shops, kind)
    server.coming += [Response(status_code=429, headers={"Retry-After": "1"}) for _ in range(5)]
    busy = _error(lambda: shop.order(11_500))
    server.coming.append(Response(status_code=429, headers={"Retry-After": "3600"}))
    long = _error(lambda: shop.order(11_500))

    assert "busy" in str(busy)
    assert "busy" in str(long)
    assert waits == [1.0] * 4
    assert not server.coming


@pytest.mark.parametrize("kind", ["woocommerce", "shopify"])
def test_an_answer_of_something_else_is_an_error_that_names_the_address(shops: Shops, kind: str) -> None:
    shops.server(kind).coming.append(Response("<html>Coming soon</html>", media_type="text/html"))

    assert "OMNIOPS_SHOP_URL" in str(_error(lambda: shops.each[kind].order(11_500)))


def test_a_throttled_query_is_asked_again_when_there_is_enough_for_it(shops: Shops) -> None:
    shop, server, waits = _impatient(shops, "shopify")
    status = {"currentlyAvailable": 20, "maximumAvailable": 2_000, "restoreRate": 100}
    cost = {"cost": {"requestedQueryCost": 320, "throttleStatus": status}}
    server.coming.append(
        JSONResponse({"errors": [{"message": "Throttled", "extensions": {"code": "THROTTLED"}}], "extensions": cost})
    )

    assert shop.order(11_500) == shops.local.order(11_500)
    assert waits == [3.0]


def test_a_write_is_not_sent_again_when_it_may_have_happened(shops: Shops) -> None:
    shop, server, waits = _impatient(shops, "woocommerce")
    order = next(row["id"] for row in shop.orders(*SPAN, "completed", 50) if row["id"] % 2)
    server.seen.clear()
    server.coming += [JSONResponse({"id": order, "status": "completed", "total": "10.00"}), Response(status_code=503)]

    assert "busy" in str(_error(lambda: shop.refund(order, "broken")))
    assert server.seen == [f"GET /orders/{order}", f"POST /orders/{order}/refunds"]
    assert waits == []


def test_a_change_of_stock_that_somebody_else_overtook_is_refused(shops: Shops) -> None:
    level = {
        "location": {"id": "gid://shopify/Location/1", "name": "lyon"},
        "quantities": [{"name": "on_hand", "quantity": 9_999}],
    }
    item = {"id": "gid://shopify/InventoryItem/200", "inventoryLevels": {"nodes": [level]}}
    page = {"nodes": [{"sku": _sku(200), "inventoryItem": item}], "pageInfo": {"hasNextPage": False, "endCursor": None}}
    shops.shopify.coming.append(JSONResponse({"data": {"productVariants": page}}))

    assert "no longer matches" in str(_error(lambda: shops.each["shopify"].set_stock(_sku(200), "lyon", 6)))


@pytest.mark.parametrize("kind", ["woocommerce", "shopify"])
def test_a_wrong_key_is_refused_with_the_name_of_the_setting_and_without_the_key(shops: Shops, kind: str) -> None:
    keys = {
        "OMNIOPS_WOOCOMMERCE_KEY": "ck_wrong",
        "OMNIOPS_WOOCOMMERCE_SECRET": "cs_wrong",
        "OMNIOPS_SHOPIFY_TOKEN": "shpat_wrong",
    }
    shop = open_shop({**keys, "OMNIOPS_SHOP": kind, "OMNIOPS_SHOP_URL": shops.urls[kind]}, open_copy_of(None))
    said = str(_error(lambda: shop.order(11_500)))

    assert f"OMNIOPS_{kind.upper()}" in said
    assert "wrong" not in said


@pytest.mark.parametrize("kind", ["woocommerce", "shopify"])
def test_a_shop_that_is_not_there_or_sends_us_elsewhere_is_an_error_without_the_key(shops: Shops, kind: str) -> None:
    gone = str(_error(lambda: shops.open(kind, OMNIOPS_SHOP_URL="http://127.0.0.1:9").order(1)))
    server = shops.server(kind)
    server.coming.append(Response(status_code=302, headers={"Location": "http://elsewhere.invalid/"}))
    moved = str(_error(lambda: shops.each[kind].order(1)))

    assert "does not answer" in gone
    assert not any(key in gone for key in KEYS.values())
    assert "elsewhere" in moved or "302" in moved
    assert not server.coming


def test_key_and_secret_travel_as_basic_authentication_over_tls(
    shops: Shops, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = make_certificate(tmp_path / "tls.pem")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    server = woocommerce_server.WooCommerceServer(open_copy_of(None))
    with served(server.app, certificate) as url:
        shop = WooCommerceShop(WooCommerceApi(url, woocommerce_server.KEY, woocommerce_server.SECRET))

        assert shop.customer(7) == shops.local.customer(7)


@pytest.mark.parametrize(
    ("environment", "missing"),
    [
        ({"OMNIOPS_SHOP": "magento"}, "OMNIOPS_SHOP"),
        ({"OMNIOPS_SHOP": "woocommerce"}, "OMNIOPS_WOOCOMMERCE_KEY"),
        ({"OMNIOPS_SHOP": "shopify", "OMNIOPS_SHOPIFY_TOKEN": "t"}, "OMNIOPS_SHOP_URL"),
        ({"OMNIOPS_SHOP": "shopify", "OMNIOPS_SHOPIFY_TOKEN": "t", "OMNIOPS_SHOP_URL": "http://shop.example"}, "https"),
    ],
)
def test_a_shop_that_cannot_be_opened_says_what_is_missing(environment: dict[str, str], missing: str) -> None:
    with pytest.raises(SystemExit, match=missing):
        open_shop(environment, open_copy_of(None))


class _Watched(Sync):
    """A sync that notes its comparisons between the pages that the server gives."""

    def __init__(self, records: Any, shop: Shop, seen: list[str]) -> None:
        super().__init__(records, shop)
        self._seen = seen
        self.largest = 0

    def get_products_by_sku(self, skus: list[str]) -> list[Product]:
        self._seen.append("compared")
        self.largest = max(self.largest, len(skus))
        return super().get_products_by_sku(skus)


def _impatient(shops: Shops, kind: str) -> tuple[Shop, Any, list[float]]:
    """A shop that only notes how long it would wait, and its server."""
    waits: list[float] = []
    if kind == "woocommerce":
        api = WooCommerceApi(shops.urls[kind], woocommerce_server.KEY, woocommerce_server.SECRET, rest=waits.append)
        return WooCommerceShop(api), shops.woocommerce, waits
    shopify = ShopifyShop(ShopifyApi(shops.urls[kind], shopify_server.TOKEN, rest=waits.append))
    shops.closing.callback(shopify.close)
    return shopify, shops.shopify, waits


def _error(call: Callable[[], Any]) -> ToolError:
    with pytest.raises(ToolError) as caught:
        call()
    return caught.value


@cache
def _sku(number: int) -> str:
    """The SKU of a product: its category and its number."""
    with closing(open_records(None).connection) as connection:
        return connection.execute("SELECT sku FROM feed WHERE id = ?", (number,)).fetchone()[0]
