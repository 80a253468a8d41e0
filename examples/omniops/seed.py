"""Five thousand products and a year of orders, always the same. Customers are invented."""

import random
import sqlite3
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from examples.omniops.meaning import to_vectors
from examples.omniops.talk import talk
from examples.records import insert

TODAY = date(2026, 6, 30)
PRODUCTS, CUSTOMERS, ORDERS = 5_000, 1_200, 12_000
LAST_SYNC = "2026-06-01"
FILE = "omniops-5.sqlite"
"""The number changes with whatever is generated, so that nobody keeps an old one."""

SCHEMA = (Path(__file__).parent / "schema.sql").read_text()
THINGS = {
    "camping": "tent,sleeping bag,camp stove,headlamp,cooler,hammock,water filter,folding chair",
    "kitchen": "skillet,chef knife,kettle,cutting board,mixing bowl,espresso grinder,toaster,travel mug",
    "electronics": "bluetooth speaker,wireless earbuds,power bank,action camera,e-reader,smart plug,webcam,keyboard",
    "clothing": "rain jacket,wool socks,fleece hoodie,hiking pants,sun hat,running shoes,thermal shirt,gloves",
    "garden": "pruning shears,watering can,raised bed,bird feeder,hose reel,wheelbarrow,solar lamp,seed set",
    "fitness": "yoga mat,resistance band,kettlebell,foam roller,jump rope,pull-up bar,exercise bike,dumbbell set",
}
TRAITS = (
    "lightweight,waterproof,compact,heavy-duty,insulated,rechargeable,foldable,stainless,organic,adjustable,quiet,rugged".split(
        ","
    )
)
USES = "weekend trips,small apartments,daily commuting,cold mornings,family use,beginners,professionals,long travel".split(",")
BRANDS = "Alder Brightwell Corvid Dunlin Everhart Foxglove Granby Hollis".split()
COUNTRIES = "DE FR GB US CA NL ES IT".split()
FIRST = "Ana Bob Cleo Dan Eve Finn Gia Hans Ines Jack Kim Lea Max Nora Otto Pia".split()
LAST = "Abel Boon Cruz Dorn Eaton Falk Gomez Hale Ito Jung Kerr Lang".split()

Rows = list[Mapping[str, Any]]


def build(connection: sqlite3.Connection) -> None:
    """Fill an empty database."""
    rng = random.Random(5000)
    connection.executescript(SCHEMA)
    products = [_product(rng, number) for number in range(1, PRODUCTS + 1)]
    insert(connection, "products", products)
    vectors = zip(products, to_vectors(products), strict=True)
    insert(connection, "product_vectors", [{"sku": product["sku"], "vector": vector} for product, vector in vectors])
    insert(connection, "feed", _feed(rng, products))
    insert(connection, "inventory", _stock(rng, products))
    insert(connection, "customers", [_customer(rng, number) for number in range(1, CUSTOMERS + 1)])
    _sell(connection, rng, products)
    talk(connection)
    connection.commit()


def _product(rng: random.Random, number: int) -> Mapping[str, Any]:
    category = rng.choice(list(THINGS))
    thing, (first, second) = rng.choice(THINGS[category].split(",")), rng.sample(TRAITS, 2)
    brand = rng.choice(BRANDS)
    return {
        "sku": f"{category[:3].upper()}-{number:05}",
        "name": f"{brand} {first} {thing}",
        "description": f"A {first}, {second} {thing} made for {rng.choice(USES)}. Two years of warranty.",
        "category": category,
        "brand": brand,
        "price": round(rng.uniform(6, 340), 2),
        "updated_at": str(date(2025, 6, 1) + timedelta(days=rng.randrange(360))),
    }


def _feed(rng: random.Random, products: Rows) -> Rows:
    """The supplier's view: most as it was, 1,200 touched since the last sync, some of them really different."""
    touched = set(rng.sample(range(len(products)), 1_200))
    rows: Rows = []
    for place, product in enumerate(products):
        row = {"id": place + 1, **product, "is_gone": 0}
        if place in touched:
            row["updated_at"] = str(date.fromisoformat(LAST_SYNC) + timedelta(days=rng.randrange(1, 29)))
            row |= _touch(rng, product)
        rows.append(row)
    new = [_product(rng, number) for number in range(PRODUCTS + 1, PRODUCTS + 151)]
    return rows + [{"id": len(rows) + place, **row, "updated_at": "2026-06-20", "is_gone": 0} for place, row in enumerate(new, 1)]


def _touch(rng: random.Random, product: Mapping[str, Any]) -> dict[str, Any]:
    match rng.randrange(6):
        case 0 | 1:
            return {"price": round(product["price"] * rng.uniform(0.7, 1.4), 2)}
        case 2:
            return {"description": product["description"] + " New edition."}
        case 3:
            return {"is_gone": 1}
        case _:
            return {}


def _stock(rng: random.Random, products: Rows) -> Rows:
    return [
        {
            "sku": product["sku"],
            "warehouse": warehouse,
            "on_hand": rng.randrange(0, 120),
            "reserved": rng.randrange(0, 12),
            "reorder_point": rng.randrange(4, 20),
        }
        for product in products
        for warehouse in ("berlin", "lyon")
    ]


def _customer(rng: random.Random, number: int) -> Mapping[str, Any]:
    first, last = rng.choice(FIRST), rng.choice(LAST)
    return {
        "id": number,
        "name": f"{first} {last}",
        "email": f"{first}.{last}{number}@example.com".lower(),
        "phone": f"+49 30 5550{rng.randrange(10_000):04}",
        "country": rng.choice(COUNTRIES),
    }


def _sell(connection: sqlite3.Connection, rng: random.Random, products: Rows) -> None:
    orders: Rows = []
    items: Rows = []
    shipments: Rows = []
    for number in range(1, ORDERS + 1):
        day = TODAY - timedelta(days=365 - number * 365 // ORDERS)
        bought = [(rng.choice(products), rng.randrange(1, 4)) for _ in range(rng.randrange(1, 5))]
        items += [{"order_id": number, "sku": item["sku"], "quantity": count, "price": item["price"]} for item, count in bought]
        status = rng.choices(("completed", "processing", "refunded", "canceled"), (88, 5, 4, 3))[0]
        total = round(sum(item["price"] * count for item, count in bought), 2)
        customer = rng.randrange(1, CUSTOMERS + 1)
        orders.append({"id": number, "customer_id": customer, "date": str(day), "status": status, "total": total})
        if status != "canceled":
            shipments.append(_shipment(rng, number, day))
    for table, rows in {"orders": orders, "items": items, "shipments": shipments}.items():
        insert(connection, table, rows)


def _shipment(rng: random.Random, order: int, day: date) -> Mapping[str, Any]:
    shipped, promised = day + timedelta(days=rng.randrange(1, 4)), day + timedelta(days=6)
    arrives = shipped + timedelta(days=rng.choice((1, 2, 2, 3, 3, 4, 5, 9)))
    has_arrived = arrives <= TODAY
    return {
        "order_id": order,
        "carrier": rng.choice(("DHL", "GLS", "UPS", "DPD")),
        "status": "delivered" if has_arrived else "under way",
        "shipped": str(shipped),
        "promised": str(promised),
        "delivered": str(arrives) if has_arrived else None,
    }
