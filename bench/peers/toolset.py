"""The tools that every candidate is given: plain functions, the same for all. Standard library only."""

from collections.abc import Callable
from typing import Any

COUNTRIES = ("DE", "FR", "IT", "ES")
ROWS = 10_000


def echo(x: int) -> int:
    """The smallest tool."""
    return x


async def slow(i: int) -> int:
    """A tool that takes as long as a quick server does."""
    import asyncio  # not before it is needed: this module is imported in timed children

    await asyncio.sleep(0.05)
    return i


def rows() -> list[dict[str, Any]]:
    """10,000 rows, 2 MB as JSON."""
    return [
        {"id": n, "region": COUNTRIES[n % 4], "amount": (n * 7919) % 1000, "open": n % 3 == 0, "note": "x" * 130}
        for n in range(ROWS)
    ]


def find(id: int) -> dict[str, Any]:  # noqa: A002 - as a server would call it
    """A customer."""
    return {"id": id, "name": f"Customer {id}", "country": COUNTRIES[id % 4]}


async def get_customer(id: int) -> dict[str, Any]:  # noqa: A002 - as a server would call it
    """A customer, asynchronously."""
    return find(id)


def get_price(id: int) -> int:  # noqa: A002 - as a server would call it
    """The price of a product."""
    return 10 + id


def list_orders(days: int) -> list[dict[str, Any]]:
    """A month of orders, always the same."""
    return [
        {"id": n, "customer": n % 97, "total": round(5 + (n * 37 % 4_000) / 13, 2), "days": n * 7919 % days} for n in range(500)
    ]


def filler(x: int) -> int:
    """One of the thousands that fill a catalogue."""
    return x


TOOLS: dict[str, Callable[..., Any]] = {
    "bench.echo": echo,
    "bench.slow": slow,
    "bench.rows": rows,
    "crm.find": find,
    "crm.get_customer": get_customer,
    "shop.get_price": get_price,
    "shop.list_orders": list_orders,
}


def rows_expected() -> dict[str, int]:
    """What filtering and aggregating the rows must give."""
    return {country: sum(row["amount"] for row in rows() if row["open"] and row["region"] == country) for country in COUNTRIES}
