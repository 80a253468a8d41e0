"""The same shop three times: our own database, and servers that speak the other two APIs over a copy of it."""

from collections.abc import Generator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from examples.omniops.shops.chosen import open_shop
from examples.omniops.shops.shop import Shop
from examples.omniops.stored import open_copy_of
from examples.omniops.tests import shopify_server, woocommerce_server
from examples.omniops.tests.serving import served
from examples.records import Records

FEW = """DELETE FROM inventory WHERE substr(sku, 5) > '00400'; DELETE FROM orders WHERE date < '2026-05-01';
         DELETE FROM feed WHERE id BETWEEN 401 AND 4400"""
"""Enough for several pages of everything, and quick."""


KEYS = {
    "OMNIOPS_WOOCOMMERCE_KEY": woocommerce_server.KEY,
    "OMNIOPS_WOOCOMMERCE_SECRET": woocommerce_server.SECRET,
    "OMNIOPS_SHOPIFY_TOKEN": shopify_server.TOKEN,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shops:
    """Three shops with the same records by the names that choose them, and the two servers."""

    each: dict[str, Shop]
    woocommerce: woocommerce_server.WooCommerceServer
    shopify: shopify_server.ShopifyServer
    urls: dict[str, str]
    closing: ExitStack

    @property
    def local(self) -> Shop:
        """Our own database."""
        return self.each["local"]

    def server(self, kind: str) -> woocommerce_server.WooCommerceServer | shopify_server.ShopifyServer:
        """The server behind a shop."""
        return self.woocommerce if kind == "woocommerce" else self.shopify

    def open(self, kind: str, **changed: str) -> Shop:
        """The same shop once more, with other settings."""
        shop = open_shop({**KEYS, "OMNIOPS_SHOP": kind, "OMNIOPS_SHOP_URL": self.urls[kind], **changed}, open_copy_of(None))
        self.closing.callback(shop.close)
        return shop


@pytest.fixture(scope="module")
def shops() -> Generator[Shops]:
    """Opened as the commerce server opens them."""
    records = {name: _few() for name in ("local", "woocommerce", "shopify")}
    woocommerce = woocommerce_server.WooCommerceServer(records["woocommerce"])
    shopify = shopify_server.ShopifyServer(records["shopify"])
    with ExitStack() as stack:
        apps = {"woocommerce": woocommerce.app, "shopify": shopify.app}
        urls = {name: stack.enter_context(served(app)) for name, app in apps.items()}
        each = {
            name: open_shop({**KEYS, "OMNIOPS_SHOP": name, "OMNIOPS_SHOP_URL": urls.get(name, "")}, records[name])
            for name in records
        }
        for shop in each.values():
            stack.callback(shop.close)
        yield Shops(each=each, woocommerce=woocommerce, shopify=shopify, urls=urls, closing=stack)


def _few() -> Records:
    records = open_copy_of(None)
    records.connection.executescript(FEW)
    return records
