"""The REST API of WooCommerce (v3) through its official client: pages, patience, and errors that say what to do.

Over https the client sends key and secret as basic authentication, over http it signs each request (OAuth 1.0a).
"""

import time
from collections.abc import Iterator
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError
from requests import RequestException, Response
from woocommerce import API

from examples.omniops.shops.patience import BUSY, TOO_MANY, Sleep, answered
from examples.omniops.shops.shop import no_record

PAGE = 100
"""The most that the API gives at once."""
SECONDS = 30
Fields = dict[str, Any]


class WooCommerceApi:
    """One shop."""

    def __init__(self, url: str, key: str, secret: str, *, rest: Sleep = time.sleep) -> None:
        self._api = API(url=url, consumer_key=key, consumer_secret=secret, version="wc/v3", timeout=SECONDS)
        self._rest = rest

    def one(self, path: str, **params: Any) -> Fields:
        """One record, such as ``orders/7``."""
        return _json(self._call("get", path, params))

    def all(self, path: str, offset: int = 0, **params: Any) -> Iterator[Fields]:
        """The records of a list in the order of their ids; a page is fetched when its first record is asked for."""
        total = offset + 1
        while offset < total:
            asked = {"orderby": "id", "order": "asc", "dates_are_gmt": "true", "per_page": PAGE, "offset": offset, **params}
            answer = self._call("get", path, asked)
            page: list[Fields] = _json(answer)
            yield from page
            # An empty page ends the list too: products may vanish while we read.
            total = _total(answer) if page else 0
            offset += len(page)

    def change(self, method: str, path: str, body: Fields) -> Fields:
        """``put`` or ``post``."""
        return _json(self._call(method, path, {}, body))

    def _call(self, method: str, path: str, params: Fields, body: Fields | None = None) -> Response:
        def send() -> Response:
            # Redirects are not followed: they would carry the key elsewhere.
            call, extra = getattr(self._api, method), {"params": dict(params), "allow_redirects": False}
            return call(path, **extra) if body is None else call(path, body, **extra)

        try:
            answer = answered(send, self._rest, BUSY if body is None else TOO_MANY)
        except RequestException as error:
            # Its text holds the address with key and signature.
            raise ToolError(f"the shop does not answer ({type(error).__name__}); check OMNIOPS_SHOP_URL") from None
        return _checked(answer)


def _checked(answer: Response) -> Response:
    """Raises: ToolError, unless the shop did as it was told."""
    match answer.status_code:
        case 200 | 201:
            return answer
        case 404:
            raise no_record()
        case 401 | 403:
            raise ToolError("the shop refuses the key: check OMNIOPS_WOOCOMMERCE_KEY, OMNIOPS_WOOCOMMERCE_SECRET and its rights")
        case 429 | 503:
            raise ToolError("the shop is busy; try again later")
        case code if 300 <= code < 400:
            raise ToolError("the shop sends us elsewhere; set OMNIOPS_SHOP_URL to its final address")
        case code:
            raise ToolError(f"the shop answers with {code}: {_message(answer)}")


def _json(answer: Response) -> Any:
    try:
        return answer.json()
    except ValueError:
        raise ToolError("what answers is no WooCommerce; check OMNIOPS_SHOP_URL") from None


def _total(answer: Response) -> int:
    try:
        return int(answer.headers["X-WP-Total"])
    except (KeyError, ValueError):
        raise ToolError("the shop's answer lacks X-WP-Total; does a proxy in front of it drop headers?") from None


def _message(answer: Response) -> str:
    try:
        return str(answer.json()["message"])[:200]
    except (ValueError, KeyError, TypeError):
        return "and no message"
