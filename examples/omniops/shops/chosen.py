"""Which shop the environment names. Keys stand only there, never in a file of ours."""

from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from examples.omniops.shops.local import LocalShop
from examples.omniops.shops.shop import Shop
from examples.records import Records

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def open_shop(environment: Mapping[str, str], records: Records) -> Shop:
    """The shop of ``OMNIOPS_SHOP``: local (or unset), woocommerce, shopify.

    Raises:
        SystemExit: something is missing; it says what.
    """
    kinds: dict[str, Callable[[], Shop]] = {
        "local": lambda: LocalShop(records),
        "woocommerce": lambda: _woocommerce(environment),
        "shopify": lambda: _shopify(environment),
    }
    name = environment.get("OMNIOPS_SHOP") or "local"
    if name not in kinds:
        raise SystemExit(f"OMNIOPS_SHOP is {name!r}; it can be {', '.join(kinds)}")
    return kinds[name]()


# The clients are extras: a shop of our own has to open without them.
def _woocommerce(environment: Mapping[str, str]) -> Shop:
    try:
        from examples.omniops.shops.woocommerce import WooCommerceShop
        from examples.omniops.shops.woocommerce_http import WooCommerceApi
    except ModuleNotFoundError as missing:
        raise SystemExit(f"{missing}; pip install 'woocommerce>=3'") from None
    key, secret = (_needed(environment, f"OMNIOPS_WOOCOMMERCE_{name}") for name in ("KEY", "SECRET"))
    return WooCommerceShop(WooCommerceApi(_url(environment), key, secret))


def _shopify(environment: Mapping[str, str]) -> Shop:
    try:
        from examples.omniops.shops.shopify import ShopifyShop
        from examples.omniops.shops.shopify_http import ShopifyApi
    except ModuleNotFoundError as missing:
        raise SystemExit(f"{missing}; pip install 'gql[httpx2]>=4.4'") from None
    return ShopifyShop(ShopifyApi(_url(environment), _needed(environment, "OMNIOPS_SHOPIFY_TOKEN")))


def _url(environment: Mapping[str, str]) -> str:
    """The shop's address: https, unless it is on this machine, since keys travel with every request."""
    url = _needed(environment, "OMNIOPS_SHOP_URL")
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise SystemExit("OMNIOPS_SHOP_URL has to begin with https://")
    return url


def _needed(environment: Mapping[str, str], name: str) -> str:
    if value := environment.get(name):
        return value
    raise SystemExit(f"set {name} in the environment")
