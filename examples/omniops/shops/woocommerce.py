"""A shop on WooCommerce. Its core knows neither warehouses nor parcels, so these are read from metadata.

Parcels: what the extension Shipment Tracking writes, and ``omniops_promised`` and ``omniops_delivered`` beside it.
Warehouses: ``omniops_warehouses`` of a product; without it, its stock is one warehouse named ``shop``.
"""

import heapq
import html
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from typing import Any, cast

from examples.omniops.rows import Customer, FeedRow, Order, OrderRow, Shipment, Stock
from examples.omniops.shops.shop import is_low, no_record, parcel_status
from examples.omniops.shops.woocommerce_http import Fields, WooCommerceApi

WAREHOUSES, TRACKING = "omniops_warehouses", "_wc_shipment_tracking_items"
WHOLE = "shop"
"""The warehouse of a shop that has only one."""
_STATUS = {"cancelled": "canceled"}
_THEIR_STATUS = {ours: theirs for theirs, ours in _STATUS.items()}
_ORDER = "id,customer_id,date_created_gmt,status,total"
_PRODUCT = "sku,name,description,categories,brands,price,date_modified_gmt,status"


class WooCommerceShop:
    """A ``Shop`` over the REST API."""

    def __init__(self, api: WooCommerceApi) -> None:
        self._api = api

    def orders(self, start: str, end: str, status: str | None, limit: int) -> list[OrderRow]:
        """Orders between two days."""
        asked: Fields = {**_within(start, end), "status": _THEIR_STATUS.get(status, status) if status else "any"}
        return [_order_row(each) for each in islice(self._api.all("orders", _fields=_ORDER, **asked), max(0, limit))]

    def order(self, order_id: int) -> Order:
        """One order with its items."""
        found = self._api.one(f"orders/{order_id}")
        items = [{name: line[name] for name in ("sku", "name", "quantity", "price")} for line in found["line_items"]]
        items.sort(key=lambda item: (item["sku"], item["quantity"]))
        return cast("Order", {**_order_row(found), "items": items})

    def orders_of(self, customer_id: int) -> list[OrderRow]:
        """Orders of one customer."""
        return [_order_row(each) for each in self._api.all("orders", customer=customer_id, _fields=_ORDER)]

    def customer(self, customer_id: int) -> Customer:
        """One customer."""
        return _customer(self._api.one(f"customers/{customer_id}"))

    def customers(self, text: str, limit: int) -> list[Customer]:
        """What the shop's own search finds, if name or mail address really contains the text."""
        found = map(_customer, self._api.all("customers", search=text, role="all"))
        fitting = (each for each in found if text.lower() in f"{each['name']}\n{each['email']}".lower())
        return list(islice(fitting, max(0, limit)))

    def stock(self, sku: str) -> list[Stock]:
        """What each warehouse has of a product."""
        return _stock(self._product(sku))

    def low_stock(self, warehouse: str | None, limit: int) -> list[Stock]:
        """Every product is looked at, since the shop cannot be asked; only what is low is kept."""
        fields = "sku,manage_stock,stock_quantity,low_stock_amount,meta_data"
        found = (stock for product in self._api.all("products", status="any", _fields=fields) for stock in _stock(product))
        low = (stock for stock in found if is_low(stock) and warehouse in (None, stock["warehouse"]))
        return heapq.nsmallest(limit, low, key=lambda stock: (stock["sku"], stock["warehouse"]))

    def shipment(self, order_id: int) -> Shipment:
        """The parcel of an order."""
        if (found := _shipment(self._api.one(f"orders/{order_id}", _fields="id,meta_data"))) is None:
            raise no_record()
        return found

    def shipments(self, start: str, end: str, carrier: str | None, limit: int) -> list[Shipment]:
        """Parcels of orders that came before the last day and were touched since the first: shipping touches an order."""
        asked: Fields = {"before": _within(start, end)["before"], "modified_after": _within(start, end)["after"]}
        found = map(_shipment, self._api.all("orders", status="any", _fields="id,meta_data", **asked))
        fitting = (each for each in found if each and start <= each["shipped"] <= end and carrier in (None, each["carrier"]))
        return list(islice(fitting, max(0, limit)))

    def products_since(self, since: str, offset: int = 0) -> Iterator[FeedRow]:
        """Products changed after a day, a page at a time. What is no longer public is gone; what was deleted is not listed."""
        asked: Fields = {"modified_after": f"{since}T23:59:59", "status": "any", "_fields": _PRODUCT}
        return map(_feed_row, self._api.all("products", offset, **asked))

    def set_stock(self, sku: str, warehouse: str, on_hand: int) -> None:
        """Set how many pieces a warehouse has; the shop itself sells what is free in all of them."""
        product = self._product(sku)
        stock = _stock(product)
        changed = next((each for each in stock if each["warehouse"] == warehouse), None)
        if changed is None:
            raise no_record()
        changed["on_hand"] = on_hand
        body: Fields = {"stock_quantity": sum(each["on_hand"] - each["reserved"] for each in stock)}
        if (kept := _meta(product, WAREHOUSES)) is not None:
            body["meta_data"] = [
                {"key": WAREHOUSES, "value": [{**each, "on_hand": _on_hand(stock, each["warehouse"])} for each in kept]}
            ]
        self._api.change("put", f"products/{product['id']}", body)

    def refund(self, order_id: int, reason: str) -> None:
        """Refund the whole order through the way it was paid."""
        found = self._api.one(f"orders/{order_id}", _fields="id,status,total")
        if found["status"] != "completed":
            raise no_record()
        self._api.change("post", f"orders/{order_id}/refunds", {"amount": found["total"], "reason": reason, "api_refund": True})

    def close(self) -> None:
        """Its client keeps no connection."""

    def _product(self, sku: str) -> Fields:
        # Commas separate SKUs, and the search is for any of them.
        found = self._api.all("products", sku=sku, status="any") if sku and "," not in sku else iter(())
        return next((product for product in found if product["sku"] == sku), {"sku": sku})


def _within(start: str, end: str) -> dict[str, str]:
    """The API's bounds are exclusive and in seconds."""
    first, last = (date.fromisoformat(day) for day in (start, end))
    return {"after": f"{first - timedelta(days=1)}T23:59:59", "before": f"{last + timedelta(days=1)}T00:00:00"}


def _order_row(order: Fields) -> OrderRow:
    return {
        "id": order["id"],
        "customer_id": order["customer_id"],
        "date": order["date_created_gmt"][:10],
        "status": _STATUS.get(order["status"]) or order["status"],
        "total": float(order["total"]),
    }


def _customer(customer: Fields) -> Customer:
    billing = customer["billing"]
    name = f"{customer['first_name']} {customer['last_name']}".strip()
    mail, phone, country = customer["email"], billing["phone"], billing["country"]
    return {"id": customer["id"], "name": name, "email": mail, "phone": phone, "country": country}


def _stock(product: Fields) -> list[Stock]:
    sku = product["sku"]
    if (kept := _meta(product, WAREHOUSES)) is not None:
        counts = ("on_hand", "reserved", "reorder_point")
        found = [{"sku": sku, "warehouse": each["warehouse"], **{name: int(each[name]) for name in counts}} for each in kept]
        return cast("list[Stock]", sorted(found, key=lambda stock: stock["warehouse"]))
    if not product.get("manage_stock"):
        return []
    on_hand, low = int(product["stock_quantity"] or 0), int(product["low_stock_amount"] or 0)
    return [{"sku": sku, "warehouse": WHOLE, "on_hand": on_hand, "reserved": 0, "reorder_point": low}]


def _on_hand(stock: list[Stock], warehouse: str) -> int:
    return next(each["on_hand"] for each in stock if each["warehouse"] == warehouse)


def _shipment(order: Fields) -> Shipment | None:
    """The first parcel; most orders have one."""
    if not (tracked := _meta(order, TRACKING)):
        return None
    delivered = _meta(order, "omniops_delivered") or None
    return {
        "order_id": order["id"],
        "carrier": tracked[0]["tracking_provider"] or tracked[0]["custom_tracking_provider"],
        "status": parcel_status(delivered),
        "shipped": str(datetime.fromtimestamp(int(tracked[0]["date_shipped"]), UTC).date()),
        "promised": _meta(order, "omniops_promised") or "",
        "delivered": delivered,
    }


def _feed_row(product: Fields) -> FeedRow:
    return {
        "sku": product["sku"],
        "name": html.unescape(product["name"]),
        "description": _text(product["description"]),
        "category": _first(product, "categories"),
        "brand": _first(product, "brands"),
        "price": float(product["price"] or 0),
        "updated_at": product["date_modified_gmt"][:10],
        "is_gone": int(product["status"] != "publish"),
    }


def _first(product: Fields, field: str) -> str:
    """The shop knows several; we keep one."""
    return html.unescape(product[field][0]["name"]) if product.get(field) else ""


def _text(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", markup)).strip()


def _meta(record: Mapping[str, Any], key: str) -> Any:
    return next((each["value"] for each in record.get("meta_data", ()) if each["key"] == key), None)
