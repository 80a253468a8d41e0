"""Shopify's GraphQL Admin API through gql: cursors, patience, and errors that say what to do.

Shopify's own ShopifyAPI package has no release since 2024 and no time limit on its queries; gql is kept up.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast
from uuid import uuid4

import httpx2
from gql import Client, GraphQLRequest
from gql.transport.exceptions import TransportError, TransportProtocolError, TransportQueryError
from gql.transport.httpx import HTTPXTransport
from mcp.server.mcpserver.exceptions import ToolError

from examples.omniops.shops.patience import ATTEMPTS, LONGEST_SECONDS, Sleep, answered
from examples.omniops.shops.shopify_queries import VERSION

SECONDS = 30.0
Fields = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One record of a list, and the cursor behind its page when it is the last of it."""

    fields: Fields
    cursor: str | None


class _Checked(httpx2.BaseTransport):
    """Waits while the shop is busy, and says what an HTTP error means: gql would look for GraphQL in it."""

    def __init__(self, rest: Sleep) -> None:
        self._inner, self._rest = httpx2.HTTPTransport(), rest

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        answer = answered(lambda: self._inner.handle_request(request), self._rest)
        if answer.status_code == 200:
            return answer
        answer.close()
        match answer.status_code:
            case 401 | 403:
                raise ToolError("the shop refuses the token: check OMNIOPS_SHOPIFY_TOKEN and the scopes of its app")
            case 404:
                raise ToolError(f"there is no shop with API {VERSION} at OMNIOPS_SHOP_URL")
            case 429 | 503:
                raise ToolError("the shop is busy; try again later")
            case code:
                raise ToolError(f"the shop answers with {code}")

    def close(self) -> None:
        self._inner.close()


class ShopifyApi:
    """One shop."""

    def __init__(self, url: str, token: str, *, rest: Sleep = time.sleep) -> None:
        transport = HTTPXTransport(
            f"{url.rstrip('/')}/admin/api/{VERSION}/graphql.json",
            headers={"X-Shopify-Access-Token": token},
            timeout=SECONDS,
            transport=_Checked(rest),
        )
        self._client = Client(transport=transport)
        self._session = self._client.connect_sync()
        self._rest = rest

    def run(self, query: str, variables: Fields) -> Fields:
        """The answer's data. A throttled query has done nothing, and is asked again when there is enough for it."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._session.execute(GraphQLRequest(query, variable_values=variables))
            except TransportQueryError as error:
                seconds = _throttled(error)
                if seconds is None or seconds > LONGEST_SECONDS or attempt == ATTEMPTS:
                    raise ToolError(f"the shop refuses the query: {_first_message(error)}") from None
                self._rest(seconds)
            except TransportProtocolError:
                raise ToolError("what answers is no Shopify; check OMNIOPS_SHOP_URL") from None
            except TransportError as error:
                if isinstance(error.__cause__, ToolError):
                    raise error.__cause__ from None
                raise ToolError(f"the shop does not answer ({type(error.__cause__ or error).__name__})") from None
        raise AssertionError("the last attempt returns or raises")

    def all(self, query: str, root: str, search: str, after: str | None = None) -> Iterator[Node]:
        """The records of a list; a page is fetched when its first record is asked for."""
        has_next = True
        while has_next:
            found: Fields = self.run(query, {"query": search, "after": after})[root]
            page: Fields = found["pageInfo"]
            nodes: list[Fields] = found["nodes"]
            has_next, after = page["hasNextPage"], cast("str | None", page["endCursor"])
            last = len(nodes) - 1
            yield from (Node(fields=each, cursor=after if place == last else None) for place, each in enumerate(nodes))

    def change(self, mutation: str, root: str, fields: Fields) -> None:
        """A mutation under a key of its own, so that a repetition on the way does it once."""
        errors = self.run(mutation, {"input": fields, "key": str(uuid4())})[root]["userErrors"]
        if errors:
            raise ToolError(f"the shop refuses: {errors[0]['message']}")

    def close(self) -> None:
        """Let go of the connection."""
        self._client.close_sync()


def _throttled(error: TransportQueryError) -> float | None:
    """Seconds until the shop would answer; none when it refused for another reason."""
    codes = [each.get("extensions", {}).get("code") for each in _errors(error)]
    if "THROTTLED" not in codes:
        return None
    cost: Fields = cast("Fields", error.extensions or {}).get("cost", {})
    status = cost.get("throttleStatus", {})
    missing = cost.get("requestedQueryCost", 0) - status.get("currentlyAvailable", 0)
    return max(0.5, missing / max(1, status.get("restoreRate", 50)))


def _first_message(error: TransportQueryError) -> str:
    return next((str(each.get("message", ""))[:200] for each in _errors(error)), "and does not say why")


def _errors(error: TransportQueryError) -> list[Mapping[str, Any]]:
    return [cast("Mapping[str, Any]", each) for each in error.errors or [] if isinstance(each, Mapping)]
