"""A shop that speaks WooCommerce's REST API v3 over the generated records: paths, parameters, headers, signatures, errors.

Stricter than the real one where that finds mistakes: a parameter that it does not know is refused.
"""

import base64
import hashlib
import hmac
import math
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse

from examples.records import Records

KEY, SECRET = "ck_test", "cs_test"
STEP = "/wp-json/wc/v3"
PAGING = {"per_page", "offset", "page", "orderby", "order", "dates_are_gmt", "_fields"}
Fields = dict[str, Any]


class WooCommerceServer:
    """``app`` is the server; ``seen`` what it was asked; ``coming`` the answers that it gives first, whatever is asked."""

    def __init__(self, records: Records) -> None:
        self.app = FastAPI()
        self.records = records
        self.seen: list[str] = []
        self.coming: list[Response] = []
        self.app.middleware("http")(self._guard)
        for path, method, function in (
            ("/orders", "GET", self.orders),
            ("/orders/{number}", "GET", self.order),
            ("/orders/{number}/refunds", "POST", self.refund),
            ("/customers", "GET", self.customers),
            ("/customers/{number}", "GET", self.customer),
            ("/products", "GET", self.products),
            ("/products/{number}", "PUT", self.update_product),
        ):
            self.app.add_api_route(STEP + path, function, methods=[method], response_model=None)

    async def _guard(self, request: Request, proceed: Any) -> Response:
        self.seen.append(f"{request.method} {request.url.path.removeprefix(STEP)}")
        if self.coming:
            return self.coming.pop(0)
        if not _is_signed(request):
            return _error(401, "woocommerce_rest_cannot_view", "Sorry, you cannot list resources.")
        return await proceed(request)

    def orders(self, request: Request) -> Response:
        """GET /orders."""
        asked = _asked(request, {"after", "before", "modified_after", "status", "customer"})
        where = """(:after IS NULL OR o.date || 'T09:00:00' > :after) AND (:before IS NULL OR o.date || 'T09:00:00' < :before)
                   AND (:modified_after IS NULL OR coalesce(s.delivered, s.shipped, o.date) || 'T17:00:00' > :modified_after)
                   AND (:customer IS NULL OR o.customer_id = :customer)
                   AND (coalesce(:status, 'any') = 'any' OR o.status = replace(:status, 'cancelled', 'canceled'))"""
        table = "orders o LEFT JOIN shipments s ON s.order_id = o.id"
        return self._list(table, "o.id AS number", where, asked, self._order)

    def order(self, number: int, request: Request) -> Response:
        """GET /orders/<id>."""
        return _shown(self._order(number), _asked(request, set()))

    def refund(self, number: int, body: Fields) -> Response:
        """POST /orders/<id>/refunds; the whole amount makes the order a refunded one."""
        order = self._order(number)
        if order is None:
            return _missing()
        if float(body["amount"]) != float(order["total"]) or body["api_refund"] is not True:
            return _error(400, "woocommerce_rest_invalid_order_refund", "Refund amount is invalid.")
        self.records.change("UPDATE orders SET status = 'refunded' WHERE id = :id", id=number)
        return JSONResponse({"id": 900_000 + number, "amount": order["total"], "reason": body["reason"]}, 201)

    def customers(self, request: Request) -> Response:
        """GET /customers."""
        asked = _asked(request, {"search", "role"})
        where = ":search IS NULL OR instr(lower(name), lower(:search)) OR instr(lower(email), lower(:search))"
        return self._list("customers", "id AS number", where, asked, self._customer)

    def customer(self, number: int, request: Request) -> Response:
        """GET /customers/<id>."""
        return _shown(self._customer(number), _asked(request, set()))

    def products(self, request: Request) -> Response:
        """GET /products."""
        asked = _asked(request, {"modified_after", "status", "sku"})
        where = """(:modified_after IS NULL OR updated_at || 'T08:00:00' > :modified_after) AND (:sku IS NULL OR sku = :sku)
                   AND (coalesce(:status, 'publish') = 'any' OR is_gone = 0)"""
        return self._list("feed", "id AS number", where, asked, self._product)

    def update_product(self, number: int, body: Fields) -> Response:
        """PUT /products/<id>."""
        product = self._product(number)
        if product is None:
            return _missing()
        for meta in body.get("meta_data", ()):
            for each in meta["value"]:
                self.records.change(
                    "UPDATE inventory SET on_hand = :on_hand WHERE sku = :sku AND warehouse = :warehouse",
                    sku=product["sku"], warehouse=each["warehouse"], on_hand=each["on_hand"],
                )  # fmt: skip
        return JSONResponse(self._product(number))

    def _list(self, table: str, number: str, where: str, asked: Fields, show: Any) -> Response:
        size, offset = int(asked.get("per_page", 10)), int(asked.get("offset", 0))
        if not 1 <= size <= 100 or asked.get("orderby") != "id" or asked.get("order") != "asc":
            return _error(400, "rest_invalid_param", "Invalid parameter(s): per_page")
        names = {name: asked.get(name) for name in _parameters(where)}
        sql = f"SELECT {number} FROM {table} WHERE {where} ORDER BY 1"
        found = self.records.rows(Fields, sql, **names)
        page = [show(row["number"]) for row in found[offset : offset + size]]
        headers = {"X-WP-Total": str(len(found)), "X-WP-TotalPages": str(math.ceil(len(found) / size))}
        if offset + size < len(found):
            headers["Link"] = f'<http://elsewhere.invalid{STEP}?offset={offset + size}>; rel="next"'
        return JSONResponse([_fields(each, asked) for each in page], headers=headers)

    def _order(self, number: int) -> Fields | None:
        row = next(iter(self._rows("SELECT * FROM orders WHERE id = :id", number)), None)
        if row is None:
            return None
        lines = self._rows("SELECT i.*, p.name FROM items i JOIN products p ON p.sku = i.sku WHERE order_id = :id", number)
        return {
            "id": number,
            "status": row["status"].replace("canceled", "cancelled"),
            "date_created_gmt": f"{row['date']}T09:00:00",
            "customer_id": row["customer_id"],
            "total": f"{row['total']:.2f}",
            "line_items": [{"id": 1, **{name: line[name] for name in ("name", "sku", "quantity", "price")}} for line in lines],
            "meta_data": _parcel(self._rows("SELECT * FROM shipments WHERE order_id = :id", number)),
        }

    def _customer(self, number: int) -> Fields | None:
        for row in self._rows("SELECT * FROM customers WHERE id = :id", number):
            first, last = row["name"].split()
            billing = {"phone": row["phone"], "country": row["country"]}
            return {"id": number, "first_name": first, "last_name": last, "email": row["email"], "billing": billing}
        return None

    def _product(self, number: int) -> Fields | None:
        for row in self._rows("SELECT * FROM feed WHERE id = :id", number):
            stock = self.records.rows(Fields, "SELECT * FROM inventory WHERE sku = :sku ORDER BY warehouse DESC", sku=row["sku"])
            free = sum(each["on_hand"] - each["reserved"] for each in stock)
            return {
                "id": number,
                "sku": row["sku"],
                "name": row["name"],
                "description": f"<p>{row['description']}</p>\n",
                "categories": [{"id": 1, "name": row["category"]}],
                "brands": [{"id": 1, "name": row["brand"]}],
                "price": f"{row['price']:.2f}",
                "date_modified_gmt": f"{row['updated_at']}T08:00:00",
                "status": "draft" if row["is_gone"] else "publish",
                "manage_stock": bool(stock),
                "stock_quantity": free if stock else None,
                "low_stock_amount": None,
                "meta_data": [{"id": 1, "key": "omniops_warehouses", "value": stock}] if stock else [],
            }
        return None

    def _rows(self, sql: str, number: int) -> list[Fields]:
        return self.records.rows(Fields, sql, id=number)


def _parcel(shipments: list[Fields]) -> list[Fields]:
    """As the extension Shipment Tracking keeps it, with our two days beside it."""
    return [
        meta
        for row in shipments
        for meta in (
            {"id": 1, "key": "_wc_shipment_tracking_items", "value": [_tracked(row)]},
            {"id": 2, "key": "omniops_promised", "value": row["promised"]},
            {"id": 3, "key": "omniops_delivered", "value": row["delivered"]},
        )
    ]


def _tracked(row: Fields) -> Fields:
    shipped = int(datetime.fromisoformat(f"{row['shipped']}T10:00:00+00:00").timestamp())
    return {"tracking_provider": row["carrier"], "custom_tracking_provider": "", "date_shipped": str(shipped)}


def _asked(request: Request, known: set[str]) -> Fields:
    """The query; of a parameter that comes twice, PHP sees the last."""
    asked = {name: value for name, value in request.query_params.multi_items() if not name.startswith("oauth_")}
    if unknown := set(asked) - PAGING - known:
        raise AssertionError(f"WooCommerce has no parameter {unknown}")
    return asked


def _parameters(where: str) -> Iterable[str]:
    return set(re.findall(r":([a-z_]+)", where))


def _shown(record: Fields | None, asked: Fields) -> Response:
    return _missing() if record is None else JSONResponse(_fields(record, asked))


def _fields(record: Fields, asked: Fields) -> Fields:
    wanted = asked.get("_fields")
    return {name: record[name] for name in wanted.split(",")} if wanted else record


def _missing() -> Response:
    return _error(404, "woocommerce_rest_invalid_id", "Invalid ID.")


def _error(status: int, code: str, message: str) -> Response:
    return JSONResponse({"code": code, "message": message, "data": {"status": status}}, status)


def _is_signed(request: Request) -> bool:
    """Key and secret over TLS; over plain HTTP a signature (OAuth 1.0a, one leg) of method, address and parameters."""
    if request.url.scheme == "https":
        return request.headers.get("Authorization") == "Basic " + base64.b64encode(f"{KEY}:{SECRET}".encode()).decode()
    parameters = dict(request.query_params.multi_items())
    signature = parameters.pop("oauth_signature", "")
    pairs = "&".join(f"{quote(name, '~')}={quote(value, '~')}" for name, value in sorted(parameters.items()))
    text = "&".join(quote(part, "~") for part in (request.method, str(request.url).split("?")[0], pairs))
    own = base64.b64encode(hmac.new(f"{SECRET}&".encode(), text.encode(), hashlib.sha256).digest()).decode()
    return parameters.get("oauth_consumer_key") == KEY and hmac.compare_digest(own, signature)
