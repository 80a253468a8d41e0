"""What the people of a shop ask. Today is 2026-06-30."""

import sqlite3
from typing import Any

from examples.tasks.task import Ask, Task, rows

SOLD = "status IN ('completed', 'processing')"
MONTHS = tuple(f"2026-{month:02}" for month in range(1, 7))


async def _arrived(ask: Ask) -> None:
    await ask(("shop_commerce.get_order", {"order_id": 11_500}), ("shop_commerce.get_shipment", {"order_id": 11_500}))


def _arrived_truth(truth: sqlite3.Connection) -> Any:
    (status, delivered), *_ = rows(truth, "SELECT status, delivered FROM shipments WHERE order_id = 11500")
    return [status, delivered, rows(truth, "SELECT sum(quantity) FROM items WHERE order_id = 11500")[0][0]]


async def _sync(ask: Ask) -> None:
    await ask(("shop_commerce.sync_products", {"last_sync": "2026-06-01"}))


def _differences(truth: sqlite3.Connection) -> list[str]:
    sql = """SELECT CASE WHEN f.is_gone THEN 'removed' WHEN p.sku IS NULL THEN 'added'
               WHEN f.price <> p.price OR f.description <> p.description THEN 'changed' ELSE 'unchanged' END
             FROM feed f LEFT JOIN products p ON p.sku = f.sku WHERE f.updated_at > '2026-06-01'"""
    return [kind for (kind,) in rows(truth, sql)]


def _sync_truth(truth: sqlite3.Connection) -> Any:
    kinds = _differences(truth)
    return {"checked": len(kinds), **{kind: kinds.count(kind) for kind in ("added", "changed", "removed", "unchanged")}}


async def _raises(ask: Ask) -> None:
    offset, page = 0, [None]
    while page:
        (page,) = await ask(("shop_commerce.list_feed", {"since": "2026-06-01", "offset": offset, "limit": 500}))
        if page:
            await ask(("shop_commerce.get_products_by_sku", {"skus": [row["sku"] for row in page]}))
        offset += len(page)


def _raises_truth(truth: sqlite3.Connection) -> Any:
    sql = """SELECT f.sku, round(f.price - p.price, 2) FROM feed f JOIN products p ON p.sku = f.sku
             WHERE f.updated_at > '2026-06-01' AND NOT f.is_gone ORDER BY f.price - p.price DESC, f.sku LIMIT 5"""
    return [list(row) for row in rows(truth, sql)]


async def _late(ask: Ask) -> None:
    await ask(("shop_commerce.list_shipments", {"start_date": "2026-05-01", "end_date": "2026-05-31"}))


def _late_truth(truth: sqlite3.Connection) -> Any:
    sql = """SELECT carrier, round(100.0 * sum(delivered > promised) / count(*), 1) FROM shipments
             WHERE shipped LIKE '2026-05-%' GROUP BY carrier ORDER BY carrier"""
    return dict(rows(truth, sql))


async def _reorder(ask: Ask) -> None:
    await ask(
        ("shop_commerce.list_low_stock", {"warehouse": "berlin"}),
        ("shop_analytics.top_products", {"start_date": "2026-01-01", "end_date": "2026-06-30", "limit": 100}),
    )


def _reorder_truth(truth: sqlite3.Connection) -> Any:
    best = f"""SELECT i.sku FROM orders o JOIN items i ON i.order_id = o.id WHERE o.{SOLD} AND o.date >= '2026-01-01'
               GROUP BY i.sku ORDER BY round(sum(i.quantity * i.price), 2) DESC, i.sku LIMIT 100"""
    low = "SELECT sku FROM inventory WHERE warehouse = 'berlin' AND on_hand - reserved < reorder_point"
    return sorted(sku for (sku,) in rows(truth, f"SELECT sku FROM ({best}) INTERSECT {low}"))


async def _growth(ask: Ask) -> None:
    await ask(("shop_analytics.sales_by_period", {"start_date": "2026-01-01", "end_date": "2026-06-30", "period": "month"}))


def _growth_truth(truth: sqlite3.Connection) -> Any:
    sql = f"SELECT substr(date, 1, 7), sum(total) FROM orders WHERE {SOLD} AND date LIKE '2026-%' GROUP BY 1 ORDER BY 1"
    found = rows(truth, sql)
    return {month: round(100 * (total / found[place][1] - 1), 1) for place, (month, total) in enumerate(found[1:])}


async def _customers(ask: Ask) -> None:
    (orders,) = await ask(
        ("shop_commerce.list_orders", {"start_date": "2026-06-01", "end_date": "2026-06-30", "status": "completed"})
    )
    totals: dict[int, float] = {}
    for order in orders:
        totals[order["customer_id"]] = totals.get(order["customer_id"], 0) + order["total"]
    best = sorted(totals, key=lambda customer: -totals[customer])[:5]
    await ask(*(("shop_commerce.get_customer", {"customer_id": customer}) for customer in best))


def _customers_truth(truth: sqlite3.Connection) -> Any:
    sql = """SELECT c.id, c.country, round(sum(o.total), 2) FROM orders o JOIN customers c ON c.id = o.customer_id
             WHERE o.status = 'completed' AND o.date LIKE '2026-06-%' GROUP BY c.id ORDER BY sum(o.total) DESC LIMIT 5"""
    return [list(row) for row in rows(truth, sql)]


async def _refunds(ask: Ask) -> None:
    await ask(*(("shop_analytics.monthly_report", {"month": month}) for month in MONTHS))


def _refunds_truth(truth: sqlite3.Connection) -> Any:
    sql = f"""SELECT substr(date, 1, 7), round(100 * sum(total) FILTER (WHERE status = 'refunded')
              / sum(total) FILTER (WHERE {SOLD}), 1) FROM orders WHERE date LIKE '2026-%' GROUP BY 1 ORDER BY 1"""
    return dict(rows(truth, sql))


async def _torch(ask: Ask) -> None:
    (found,) = await ask(
        ("shop_search.search_products", {"query": "waterproof torch or headlamp", "category": "camping", "max_price": 60})
    )
    wanted = [each for each in found if "waterproof" in each["description"] and "headlamp" in each["name"]]
    await ask(*(("shop_commerce.get_inventory", {"sku": each["sku"]}) for each in wanted))


def _torch_truth(truth: sqlite3.Connection) -> Any:
    sql = """SELECT sku, price FROM products p WHERE name LIKE '%headlamp%' AND description LIKE '%waterproof%' AND price <= 60
             AND (SELECT sum(on_hand - reserved) FROM inventory i WHERE i.sku = p.sku) > 0 ORDER BY price LIMIT 1"""
    return list(rows(truth, sql)[0])


async def _half_year(ask: Ask) -> None:
    span = {"start_date": "2026-01-01", "end_date": "2026-06-30"}
    await ask(
        ("shop_analytics.revenue_by_country", span),
        ("shop_analytics.revenue_by_category", span),
        ("shop_analytics.top_products", {**span, "limit": 3}),
    )


def _half_year_truth(truth: sqlite3.Connection) -> Any:
    span = f"o.{SOLD} AND o.date LIKE '2026-%'"
    country = rows(
        truth,
        f"SELECT country FROM orders o JOIN customers c ON c.id = customer_id WHERE {span} GROUP BY 1 ORDER BY sum(total) DESC",
    )
    category = rows(
        truth,
        f"""SELECT category FROM orders o JOIN items i ON i.order_id = o.id JOIN products p ON p.sku = i.sku WHERE {span}
            GROUP BY 1 ORDER BY sum(quantity * i.price) DESC""",
    )
    best = rows(
        truth,
        f"""SELECT i.sku FROM orders o JOIN items i ON i.order_id = o.id WHERE {span}
            GROUP BY 1 ORDER BY round(sum(quantity * price), 2) DESC, 1 LIMIT 3""",
    )
    return {"country": country[0][0], "category": category[0][0], "best": [sku for (sku,) in best]}


TASKS = (
    Task(
        id="shop-arrived",
        app="omniops",
        kind="chat",
        question="Has order 11500 arrived, when, and how many pieces were in it?",
        searches=("an order with its items and its parcel",),
        program="""\
from servers import shop_commerce
order = shop_commerce.get_order(11500)
parcel = shop_commerce.get_shipment(11500)
[parcel["status"], parcel["delivered"], sum(i["quantity"] for i in order["items"])]
""",
        direct=_arrived,
        expected=_arrived_truth,
    ),
    Task(
        id="shop-sync",
        app="omniops",
        kind="sync",
        question="Compare our products with the supplier's changes since 2026-06-01, without writing: how many are new, changed, gone, the same?",
        searches=("compare our catalogue with the supplier since the last sync",),
        program="""\
from servers import shop_commerce
found = shop_commerce.sync_products("2026-06-01")
{k: found[k] for k in ("checked", "added", "changed", "removed", "unchanged")}
""",
        direct=_sync,
        expected=_sync_truth,
    ),
    Task(
        id="shop-raises",
        app="omniops",
        kind="sync",
        question="Which five of our products does the supplier raise most in price since 2026-06-01, and by how much?",
        searches=("supplier's feed of changed products", "our products by SKU"),
        program="""\
from servers import shop_commerce
found, offset = [], 0
while page := shop_commerce.list_feed("2026-06-01", offset=offset, limit=500):
    ours = {p["sku"]: p["price"] for p in shop_commerce.get_products_by_sku([r["sku"] for r in page])}
    found += [[r["sku"], round(r["price"] - ours[r["sku"]], 2)] for r in page if r["sku"] in ours and not r["is_gone"]]
    offset += len(page)
sorted(found, key=lambda f: (-f[1], f[0]))[:5]
""",
        direct=_raises,
        expected=_raises_truth,
    ),
    Task(
        id="shop-late",
        app="omniops",
        kind="report",
        question="What share of the parcels shipped in May 2026 came late, in percent per carrier?",
        searches=("parcels shipped between two days",),
        program="""\
from servers import shop_commerce
from collections import Counter
parcels = shop_commerce.list_shipments("2026-05-01", "2026-05-31")
sent = Counter(p["carrier"] for p in parcels)
late = Counter(p["carrier"] for p in parcels if p["delivered"] and p["delivered"] > p["promised"])
{c: round(100 * late[c] / sent[c], 1) for c in sorted(sent)}
""",
        direct=_late,
        expected=_late_truth,
    ),
    Task(
        id="shop-reorder",
        app="omniops",
        kind="report",
        question="Which of our hundred best products of 2026 so far (by revenue) are low in stock in Berlin?",
        searches=("stock below the reorder point", "products with the highest revenue"),
        program="""\
from servers import shop_analytics, shop_commerce
low = {s["sku"] for s in shop_commerce.list_low_stock(warehouse="berlin")}
best = shop_analytics.top_products("2026-01-01", "2026-06-30", limit=100)
sorted(p["sku"] for p in best if p["sku"] in low)
""",
        direct=_reorder,
        expected=_reorder_truth,
    ),
    Task(
        id="shop-growth",
        app="omniops",
        kind="chat",
        question="By how many percent did revenue grow from month to month in 2026?",
        searches=("revenue per month",),
        program="""\
from servers import shop_analytics
months = shop_analytics.sales_by_period("2026-01-01", "2026-06-30", period="month")
{b["period"]: round(100 * (b["revenue"] / a["revenue"] - 1), 1) for a, b in zip(months, months[1:])}
""",
        direct=_growth,
        expected=_growth_truth,
    ),
    Task(
        id="shop-customers",
        app="omniops",
        kind="report",
        question="Who were our five best customers in June 2026 by completed orders: id, country, total?",
        searches=("orders between two days and a customer's country",),
        program="""\
from servers import shop_commerce
from collections import Counter
totals = Counter()
for o in shop_commerce.list_orders("2026-06-01", "2026-06-30", status="completed"):
    totals[o["customer_id"]] += o["total"]
[[c, shop_commerce.get_customer(c)["country"], round(t, 2)] for c, t in totals.most_common(5)]
""",
        direct=_customers,
        expected=_customers_truth,
    ),
    Task(
        id="shop-refunds",
        app="omniops",
        kind="report",
        question="What were refunds in percent of revenue in each month of 2026?",
        searches=("report of a month with refunds",),
        program="""\
from servers import shop_analytics
import asyncio
reports = await asyncio.gather(*[shop_analytics.monthly_report(f"2026-{m:02}") for m in range(1, 7)])
{r["month"]: round(100 * r["refunds"] / r["revenue"], 1) for r in reports}
""",
        direct=_refunds,
        expected=_refunds_truth,
    ),
    Task(
        id="shop-torch",
        app="omniops",
        kind="chat",
        question="A customer wants the cheapest waterproof torch up to 60 that we have in stock. Which one?",
        searches=("search products in everyday words, stock in each warehouse",),
        program="""\
from servers import shop_commerce, shop_search
found = shop_search.search_products("waterproof torch or headlamp", category="camping", max_price=60, limit=50)
found = [p for p in found if "waterproof" in p["description"] and "headlamp" in p["name"]]
for p in sorted(found, key=lambda p: p["price"]):
    if sum(s["on_hand"] - s["reserved"] for s in shop_commerce.get_inventory(p["sku"])) > 0:
        break
[p["sku"], p["price"]]
""",
        direct=_torch,
        expected=_torch_truth,
    ),
    Task(
        id="shop-half-year",
        app="omniops",
        kind="report",
        question="For the first half of 2026: which country and which category brought most revenue, and which three products (SKU)?",
        searches=("revenue per country", "revenue per product category", "products with the highest revenue"),
        program="""\
from servers import shop_analytics
span = ("2026-01-01", "2026-06-30")
{
    "country": shop_analytics.revenue_by_country(*span)[0]["name"],
    "category": shop_analytics.revenue_by_category(*span)[0]["name"],
    "best": [p["sku"] for p in shop_analytics.top_products(*span, limit=3)],
}
""",
        direct=_half_year,
        expected=_half_year_truth,
    ),
)
