"""A shop on Shopify: locations are warehouses, fulfillments are parcels, archived orders are completed ones.

Reorder points are the metafield ``omniops.reorder_points`` of a variant: JSON such as ``{"berlin": 12}``.
A product is its first variant.
"""

import heapq
import json
from collections.abc import Iterator
from itertools import islice
from typing import Any, cast

from mcp.server.mcpserver.exceptions import ToolError

from examples.omniops.rows import Customer, FeedRow, Order, OrderRow, Shipment, Stock
from examples.omniops.shops import shopify_queries as ask
from examples.omniops.shops.shop import is_low, no_record, parcel_status
from examples.omniops.shops.shopify_http import Fields, ShopifyApi

_SEARCH = {
    "completed": "status:closed",
    "processing": "status:open",
    "canceled": "status:cancelled",
    "refunded": "financial_status:refunded",
}
REMEMBERED = 256
"""Places in the feed whose cursors are kept."""


class ShopifyShop:
    """A ``Shop`` over the GraphQL Admin API."""

    def __init__(self, api: ShopifyApi) -> None:
        self._api = api
        self._cursors: dict[tuple[str, int], str] = {}

    def orders(self, start: str, end: str, status: str | None, limit: int) -> list[OrderRow]:
        """Orders between two days."""
        if status is not None and status not in _SEARCH:
            return []
        rows = self._order_rows(f"{_within('created_at', start, end)} {_SEARCH.get(status or '', '')}".strip())
        return list(islice((row for row in rows if status in (None, row["status"])), max(0, limit)))

    def order(self, order_id: int) -> Order:
        """One order with its items."""
        found = self._one(ask.ORDER, "order", "Order", order_id)
        items = [
            {
                "sku": line["sku"],
                "name": line["title"],
                "quantity": line["quantity"],
                "price": _money(line["originalUnitPriceSet"]),
            }
            for line in found["lineItems"]["nodes"]
        ]
        items.sort(key=lambda item: (item["sku"], item["quantity"]))
        return cast("Order", {**_order_row(found), "items": items})

    def orders_of(self, customer_id: int) -> list[OrderRow]:
        """Orders of one customer."""
        return list(self._order_rows(f"customer_id:{int(customer_id)}"))

    def customer(self, customer_id: int) -> Customer:
        """One customer."""
        return _customer(self._one(ask.CUSTOMER, "customer", "Customer", customer_id))

    def customers(self, text: str, limit: int) -> list[Customer]:
        """What the shop's own search finds, if name or mail address really contains the text."""
        found = (_customer(node.fields) for node in self._api.all(ask.CUSTOMERS, "customers", _quoted(text)))
        fitting = (each for each in found if text.lower() in f"{each['name']}\n{each['email']}".lower())
        return list(islice(fitting, max(0, limit)))

    def stock(self, sku: str) -> list[Stock]:
        """What each location has of a product."""
        return _stock(self._variant(sku))

    def low_stock(self, warehouse: str | None, limit: int) -> list[Stock]:
        """Every variant is looked at, since the shop cannot be asked; only what is low is kept."""
        found = (stock for node in self._api.all(ask.STOCK, "productVariants", "") for stock in _stock(node.fields))
        low = (stock for stock in found if is_low(stock) and warehouse in (None, stock["warehouse"]))
        return heapq.nsmallest(limit, low, key=lambda stock: (stock["sku"], stock["warehouse"]))

    def shipment(self, order_id: int) -> Shipment:
        """The parcel of an order."""
        if (found := _shipment(self._one(ask.PARCEL, "order", "Order", order_id))) is None:
            raise no_record()
        return found

    def shipments(self, start: str, end: str, carrier: str | None, limit: int) -> list[Shipment]:
        """Parcels of orders that came before the last day and were touched since the first: shipping touches an order."""
        search = f"updated_at:>='{start}T00:00:00Z' created_at:<='{end}T23:59:59Z'"
        found = (_shipment(node.fields) for node in self._api.all(ask.PARCELS, "orders", search))
        fitting = (each for each in found if each and start <= each["shipped"] <= end and carrier in (None, each["carrier"]))
        return list(islice(fitting, max(0, limit)))

    def products_since(self, since: str, offset: int = 0) -> Iterator[FeedRow]:
        """Products changed after a day, a page at a time. There are only cursors, so one is kept for each page read before."""
        place = max((known for day, known in self._cursors if day == since and known <= offset), default=0)
        after = self._cursors.get((since, place))
        for node in self._api.all(ask.PRODUCTS, "products", f"updated_at:>'{since}T23:59:59Z'", after):
            place += 1
            if node.cursor is not None:
                self._remember(since, place, node.cursor)
            if place > offset:
                yield _feed_row(node.fields)

    def set_stock(self, sku: str, warehouse: str, on_hand: int) -> None:
        """Set how many pieces a location has, if nobody else changed it since we looked."""
        variant = self._variant(sku)
        levels = variant.get("inventoryItem", {}).get("inventoryLevels", {}).get("nodes", [])
        level = next((each for each in levels if each["location"]["name"] == warehouse), None)
        if level is None:
            raise no_record()
        before = _quantities(level)["on_hand"]
        places = {"inventoryItemId": variant["inventoryItem"]["id"], "locationId": level["location"]["id"]}
        change = {**places, "quantity": on_hand, "changeFromQuantity": before}
        fields = {"name": "on_hand", "reason": "correction", "quantities": [change]}
        self._api.change(ask.SET_STOCK, "inventorySetQuantities", fields)

    def refund(self, order_id: int, reason: str) -> None:
        """Refund the whole order through the way it was paid."""
        found = self._one(ask.PAYMENTS, "order", "Order", order_id)
        if _order_row(found)["status"] != "completed":
            raise no_record()
        paid = [each for each in found["transactions"] if each["kind"] in ("SALE", "CAPTURE") and each["status"] == "SUCCESS"]
        if not paid:
            raise ToolError("nothing was paid for this order")
        order = _gid("Order", order_id)
        transactions = [
            {
                "orderId": order,
                "parentId": each["id"],
                "gateway": each["gateway"],
                "kind": "REFUND",
                "amount": _amount(each["amountSet"]),
            }
            for each in paid
        ]
        self._api.change(ask.REFUND, "refundCreate", {"orderId": order, "note": reason, "transactions": transactions})

    def close(self) -> None:
        """Let go of the connection."""
        self._api.close()

    def _order_rows(self, search: str) -> Iterator[OrderRow]:
        return (_order_row(node.fields) for node in self._api.all(ask.ORDERS, "orders", search))

    def _one(self, query: str, root: str, kind: str, number: int) -> Fields:
        if (found := self._api.run(query, {"id": _gid(kind, number)})[root]) is None:
            raise no_record()
        return found

    def _variant(self, sku: str) -> Fields:
        nodes = self._api.all(ask.STOCK, "productVariants", f"sku:{_quoted(sku)}") if sku else iter(())
        return next((node.fields for node in nodes if node.fields["sku"] == sku), {"sku": sku})

    def _remember(self, since: str, place: int, cursor: str) -> None:
        if len(self._cursors) >= REMEMBERED:
            self._cursors.clear()
        self._cursors[since, place] = cursor


def _gid(kind: str, number: int) -> str:
    return f"gid://shopify/{kind}/{int(number)}"


def _quoted(text: str) -> str:
    """A text as one term of the search syntax."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _within(field: str, start: str, end: str) -> str:
    return f"{field}:>='{start}T00:00:00Z' {field}:<='{end}T23:59:59Z'"


def _part(record: Fields, field: str) -> Fields:
    """What hangs on a record, or nothing."""
    return record.get(field) or {}


def _amount(price: Fields) -> str:
    return price["shopMoney"]["amount"]


def _money(price: Fields) -> float:
    return float(_amount(price))


def _order_row(order: Fields) -> OrderRow:
    return {
        "id": int(order["legacyResourceId"]),
        "customer_id": int(_part(order, "customer").get("legacyResourceId", 0)),
        "date": order["createdAt"][:10],
        "status": _status(order),
        "total": _money(order["totalPriceSet"]),
    }


def _status(order: Fields) -> str:
    if order["cancelledAt"]:
        return "canceled"
    if order["displayFinancialStatus"] == "REFUNDED":
        return "refunded"
    return "completed" if order["closed"] else "processing"


def _customer(customer: Fields) -> Customer:
    return {
        "id": int(customer["legacyResourceId"]),
        "name": customer["displayName"],
        "email": _part(customer, "defaultEmailAddress").get("emailAddress", ""),
        "phone": _part(customer, "defaultPhoneNumber").get("phoneNumber", ""),
        "country": _part(customer, "defaultAddress").get("countryCodeV2") or "",
    }


def _stock(variant: Fields) -> list[Stock]:
    points: dict[str, Any] = json.loads(_part(variant, "metafield").get("value", "{}"))
    levels = variant.get("inventoryItem", {}).get("inventoryLevels", {}).get("nodes", [])
    found: list[Stock] = []
    for level in sorted(levels, key=lambda level: level["location"]["name"]):
        counts, name = _quantities(level), level["location"]["name"]
        on_hand, reserved, point = counts["on_hand"], counts["reserved"], int(points.get(name, 0))
        found.append({"sku": variant["sku"], "warehouse": name, "on_hand": on_hand, "reserved": reserved, "reorder_point": point})
    return found


def _quantities(level: Fields) -> dict[str, int]:
    return {each["name"]: each["quantity"] for each in level["quantities"]}


def _shipment(order: Fields) -> Shipment | None:
    """The first parcel; most orders have one."""
    if not order["fulfillments"]:
        return None
    parcel = order["fulfillments"][0]
    promised, delivered = ((parcel[field] or "")[:10] for field in ("estimatedDeliveryAt", "deliveredAt"))
    return {
        "order_id": int(order["legacyResourceId"]),
        "carrier": (parcel["trackingInfo"][0]["company"] or "") if parcel["trackingInfo"] else "",
        "status": parcel_status(delivered),
        "shipped": parcel["createdAt"][:10],
        "promised": promised,
        "delivered": delivered or None,
    }


def _feed_row(product: Fields) -> FeedRow:
    variant = next(iter(product["variants"]["nodes"]), {"sku": "", "price": "0"})
    return {
        "sku": variant["sku"] or "",
        "name": product["title"],
        "description": product["description"],
        "category": product["productType"],
        "brand": product["vendor"],
        "price": float(variant["price"]),
        "updated_at": product["updatedAt"][:10],
        "is_gone": int(product["status"] != "ACTIVE"),
    }
