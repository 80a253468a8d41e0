"""A shop that speaks Shopify's GraphQL Admin API over the generated records: schema, search terms, cursors, limits, errors.

Queries are checked against ``shopify.graphql``, so that a field or an argument that Shopify does not have is an error.
"""

import base64
import json
import re
from pathlib import Path
from typing import Any, cast

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from graphql import GraphQLResolveInfo, build_schema, get_directive_values, graphql_sync  # pyright: ignore[reportUnknownVariableType]

from examples.omniops.shops.shopify_queries import VERSION
from examples.records import Records

TOKEN = "shpat_test"
PATH = f"/admin/api/{VERSION}/graphql.json"
SCHEMA = build_schema((Path(__file__).parent / "shopify.graphql").read_text())
_IDEMPOTENT = next(each for each in SCHEMA.directives if each.name == "idempotent")
_TERM = re.compile(r"""(?:(\w+):)?(>=|<=|>|<)?(?:'([^']*)'|"((?:[^"\\]|\\.)*)"|(\S+))""")
_TESTS = {
    "orders": {
        "created_at": "date || 'T09:00:00Z' {} :{}",
        "updated_at": "coalesce(s.delivered, s.shipped, date) || 'T17:00:00Z' {} :{}",
        "customer_id": "customer_id {} :{}",
        "status": "CASE o.status WHEN 'completed' THEN 'closed' WHEN 'canceled' THEN 'cancelled' WHEN 'refunded' THEN 'closed' ELSE 'open' END {} :{}",
        "financial_status": "CASE o.status WHEN 'refunded' THEN 'refunded' ELSE 'paid' END {} :{}",
    },
    "products": {"updated_at": "updated_at || 'T08:00:00Z' {} :{}"},
    "productVariants": {"sku": "sku {} :{}"},
    "customers": {"": "(instr(lower(name), lower(:{1})) OR instr(lower(email), lower(:{1})))"},
}
Fields = dict[str, Any]
Info = GraphQLResolveInfo[Any]


class ShopifyServer:
    """``app`` is the server; ``seen`` which lists and records it was asked for; ``coming`` the answers that it gives first."""

    def __init__(self, records: Records) -> None:
        self.app = FastAPI()
        self.records = records
        self.seen: list[str] = []
        self.coming: list[Response] = []
        self.keys: set[str] = set()
        self.app.add_api_route(PATH, self.answer, methods=["POST"], response_model=None)

    def answer(self, request: Request, body: Fields) -> Response:
        """One query."""
        if self.coming:
            self.seen.append("refused")
            return self.coming.pop(0)
        if request.headers.get("X-Shopify-Access-Token") != TOKEN:
            return JSONResponse({"errors": "[API] Invalid API key or access token (unrecognized login or wrong password)"}, 401)
        found = graphql_sync(SCHEMA, body["query"], root_value=self, variable_values=body.get("variables"))
        errors = {"errors": [each.formatted for each in found.errors]} if found.errors else {}
        return JSONResponse({"data": found.data, **errors, "extensions": {"cost": {"requestedQueryCost": 12}}})

    def orders(self, _info: Info, **asked: Any) -> Fields:
        """A page of orders."""
        return self._page("orders", "orders o LEFT JOIN shipments s ON s.order_id = o.id", "o.id", asked, self._order)

    def products(self, _info: Info, **asked: Any) -> Fields:
        """A page of products."""
        return self._page("products", "feed", "id", asked, self._product)

    def productVariants(self, _info: Info, **asked: Any) -> Fields:  # noqa: N802  # Shopify's name
        """A page of variants."""
        return self._page("productVariants", "feed", "id", asked, self._variant)

    def customers(self, _info: Info, **asked: Any) -> Fields:
        """A page of customers."""
        return self._page("customers", "customers", "id", asked, self._customer)

    def order(self, _info: Info, id: str) -> Fields | None:  # noqa: A002  # Shopify's name
        """One order."""
        self.seen.append("order")
        return self._order(_number(id, "Order"))

    def customer(self, _info: Info, id: str) -> Fields | None:  # noqa: A002  # Shopify's name
        """One customer."""
        self.seen.append("customer")
        return self._customer(_number(id, "Customer"))

    def inventorySetQuantities(self, info: Info, input: Fields) -> Fields:  # noqa: A002, N802  # Shopify's names
        """Compare and set."""
        if not self._is_new(info):
            return {"userErrors": []}
        (change,) = input["quantities"]
        (row,) = self._rows("SELECT * FROM feed WHERE id = :id", _number(change["inventoryItemId"], "InventoryItem"))
        where = {"sku": row["sku"], "warehouse": ("berlin", "lyon")[_number(change["locationId"], "Location")]}
        sql = "SELECT on_hand FROM inventory WHERE sku = :sku AND warehouse = :warehouse"
        (before,) = self.records.rows(Fields, sql, **where)
        if change["changeFromQuantity"] not in (None, before["on_hand"]):
            return {"userErrors": [{"field": ["input"], "message": "The changeFromQuantity argument no longer matches."}]}
        sql = "UPDATE inventory SET on_hand = :count WHERE sku = :sku AND warehouse = :warehouse"
        self.records.change(sql, count=change["quantity"], **where)
        return {"userErrors": []}

    def refundCreate(self, info: Info, input: Fields) -> Fields:  # noqa: A002, N802  # Shopify's names
        """The whole amount makes the order a refunded one."""
        if not self._is_new(info):
            return {"userErrors": []}
        number = _number(input["orderId"], "Order")
        (row,) = self._rows("SELECT total FROM orders WHERE id = :id", number)
        if [float(each["amount"]) for each in input["transactions"]] != [row["total"]]:
            return {"userErrors": [{"field": ["transactions"], "message": "Refund amount is wrong."}]}
        self.records.change("UPDATE orders SET status = 'refunded' WHERE id = :id", id=number)
        return {"userErrors": []}

    def _is_new(self, info: Info) -> bool:
        """Whether a mutation's key was not seen before; from 2026-04 on it has to have one."""
        values = get_directive_values(_IDEMPOTENT, info.field_nodes[0], info.variable_values)
        key = (values or {})["key"]
        is_new = key not in self.keys
        self.keys.add(key)
        return is_new

    def _page(self, name: str, table: str, number: str, asked: Fields, show: Any) -> Fields:
        self.seen.append(name)
        assert asked["sortKey"] == "ID"
        assert 1 <= asked["first"] <= 250
        after = int(base64.b64decode(asked["after"])) if asked.get("after") else 0
        where, values = _search(_TESTS[name], asked.get("query") or "")
        sql = f"SELECT {number} AS number FROM {table} WHERE {number} > :after AND {where} ORDER BY 1 LIMIT :most"
        found = self.records.rows(Fields, sql, after=after, most=asked["first"] + 1, **values)
        page = [row["number"] for row in found[: asked["first"]]]
        cursor = base64.b64encode(str(page[-1]).encode()).decode() if page else None
        return _nodes([show(each) for each in page], has_next=len(found) > asked["first"], cursor=cursor)

    def _order(self, number: int) -> Fields | None:
        for row in self._rows("SELECT * FROM orders WHERE id = :id", number):
            items = self._rows("SELECT i.*, p.name FROM items i JOIN products p ON p.sku = i.sku WHERE order_id = :id", number)
            shipments = self._rows("SELECT * FROM shipments WHERE order_id = :id", number)
            total = _money(row["total"])
            return {
                "legacyResourceId": str(number),
                "createdAt": f"{row['date']}T09:00:00Z",
                "cancelledAt": f"{row['date']}T12:00:00Z" if row["status"] == "canceled" else None,
                "closed": row["status"] in ("completed", "refunded"),
                "displayFinancialStatus": "REFUNDED" if row["status"] == "refunded" else "PAID",
                "customer": {"legacyResourceId": str(row["customer_id"])},
                "totalPriceSet": total,
                "lineItems": _nodes([_line(item) for item in items]),
                "fulfillments": [_fulfillment(shipment) for shipment in shipments],
                "transactions": [{"id": _gid("OrderTransaction", number), "kind": "SALE", "status": "SUCCESS", "gateway": "bogus", "amountSet": total}],
            }  # fmt: skip
        return None

    def _customer(self, number: int) -> Fields | None:
        for row in self._rows("SELECT * FROM customers WHERE id = :id", number):
            return {
                "legacyResourceId": str(number),
                "displayName": row["name"],
                "defaultEmailAddress": {"emailAddress": row["email"]},
                "defaultPhoneNumber": {"phoneNumber": row["phone"]},
                "defaultAddress": {"countryCodeV2": row["country"]},
            }
        return None

    def _product(self, number: int) -> Fields:
        (row,) = self._rows("SELECT * FROM feed WHERE id = :id", number)
        return {
            "title": row["name"],
            "description": row["description"],
            "productType": row["category"],
            "vendor": row["brand"],
            "status": "ARCHIVED" if row["is_gone"] else "ACTIVE",
            "updatedAt": f"{row['updated_at']}T08:00:00Z",
            "variants": _nodes([{"sku": row["sku"], "price": f"{row['price']:.2f}"}]),
        }

    def _variant(self, number: int) -> Fields:
        (row,) = self._rows("SELECT * FROM feed WHERE id = :id", number)
        stock = self.records.rows(Fields, "SELECT * FROM inventory WHERE sku = :sku ORDER BY warehouse DESC", sku=row["sku"])
        points = json.dumps({each["warehouse"]: each["reorder_point"] for each in stock})
        return {
            "sku": row["sku"],
            "price": f"{row['price']:.2f}",
            "metafield": {"value": points} if stock else None,
            "inventoryItem": {"id": _gid("InventoryItem", number), "inventoryLevels": _nodes([_level(each) for each in stock])},
        }

    def _rows(self, sql: str, number: int) -> list[Fields]:
        return self.records.rows(Fields, sql, id=number)


def _level(stock: Fields) -> Fields:
    def quantities(_info: Info, names: list[str]) -> list[Fields]:
        return [{"name": name, "quantity": stock[name]} for name in names]

    place = {"berlin": 0, "lyon": 1}[stock["warehouse"]]
    return {"location": {"id": _gid("Location", place), "name": stock["warehouse"]}, "quantities": quantities}


def _line(item: Fields) -> Fields:
    names = {"sku": item["sku"], "title": item["name"], "quantity": item["quantity"]}
    return {**names, "originalUnitPriceSet": _money(item["price"])}


def _fulfillment(row: Fields) -> Fields:
    return {
        "createdAt": f"{row['shipped']}T10:00:00Z",
        "estimatedDeliveryAt": f"{row['promised']}T18:00:00Z",
        "deliveredAt": f"{row['delivered']}T16:00:00Z" if row["delivered"] else None,
        "trackingInfo": [{"company": row["carrier"]}],
    }


def _nodes(nodes: list[Any], *, has_next: bool = False, cursor: str | None = None) -> Fields:
    return {"nodes": nodes, "pageInfo": {"hasNextPage": has_next, "endCursor": cursor}}


def _money(amount: float) -> Fields:
    return {"shopMoney": {"amount": f"{amount:.2f}"}}


def _gid(kind: str, number: int) -> str:
    return f"gid://shopify/{kind}/{number}"


def _number(gid: str, kind: str) -> int:
    return int(gid.removeprefix(f"gid://shopify/{kind}/"))


def _search(tests: dict[str, str], query: str) -> tuple[str, Fields]:
    """Shopify's search terms as SQL: ``field:>='value'``, all of which must hold."""
    clauses, values = ["1"], cast("Fields", {})
    for place, (field, operator, single, double, plain) in enumerate(_TERM.findall(query)):
        values[f"v{place}"] = single or double.replace('\\"', '"') or plain
        clauses.append(tests[field].format(operator or "=", f"v{place}"))
    return " AND ".join(clauses), values
