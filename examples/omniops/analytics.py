"""``python -m examples.omniops.analytics``: figures of sales and support, added up by the database."""

from pathlib import Path
from typing import Literal

from examples.omniops.conversations import Conversations
from examples.omniops.rows import Best, Period, Report, Share
from examples.omniops.stored import chosen_records
from examples.records import Records
from examples.serving import arguments, reads, serve, server_of

PORT = 8033
KEPT = 240
"""Reports: those of twenty years."""
_SOLD = "o.date BETWEEN :start AND :end AND o.status IN ('completed', 'processing')"
_LENGTH = {"day": 10, "month": 7, "year": 4}


class Analytics:
    """Tools about sales."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._reports: dict[str, Report] = {}

    @reads
    def sales_by_period(self, start_date: str, end_date: str, period: Literal["day", "month", "year"] = "month") -> list[Period]:
        """Number of orders and revenue per day, month or year."""
        return self._records.rows(
            Period,
            f"""SELECT substr(o.date, 1, :length) AS period, count(*) AS orders, round(sum(o.total), 2) AS revenue FROM orders o
                WHERE {_SOLD} GROUP BY 1 ORDER BY 1""",
            start=start_date, end=end_date, length=_LENGTH[period],
        )  # fmt: skip

    @reads
    def revenue_by_country(self, start_date: str, end_date: str) -> list[Share]:
        """Orders and revenue per customer country, largest first."""
        return self._records.rows(
            Share,
            f"""SELECT c.country AS name, count(*) AS orders, round(sum(o.total), 2) AS revenue FROM orders o
                JOIN customers c ON c.id = o.customer_id WHERE {_SOLD} GROUP BY 1 ORDER BY 3 DESC""",
            start=start_date, end=end_date,
        )  # fmt: skip

    @reads
    def revenue_by_category(self, start_date: str, end_date: str) -> list[Share]:
        """Orders and revenue per product category, largest first."""
        return self._records.rows(
            Share,
            f"""SELECT p.category AS name, count(DISTINCT o.id) AS orders, round(sum(i.quantity * i.price), 2) AS revenue
                FROM orders o JOIN items i ON i.order_id = o.id JOIN products p ON p.sku = i.sku WHERE {_SOLD}
                GROUP BY 1 ORDER BY 3 DESC""",
            start=start_date, end=end_date,
        )  # fmt: skip

    @reads
    def top_products(self, start_date: str, end_date: str, limit: int = 10) -> list[Best]:
        """Products with the highest revenue."""
        return self._records.rows(
            Best,
            f"""SELECT p.sku, p.name, sum(i.quantity) AS units, round(sum(i.quantity * i.price), 2) AS revenue FROM orders o
                JOIN items i ON i.order_id = o.id JOIN products p ON p.sku = i.sku WHERE {_SOLD}
                GROUP BY p.sku ORDER BY revenue DESC, p.sku LIMIT :limit""",
            start=start_date, end=end_date, limit=limit,
        )  # fmt: skip

    @reads
    def monthly_report(self, month: str) -> Report:
        """Orders, revenue, refunds, customers and best products of a month (YYYY-MM); computed once, then kept."""
        if month in self._reports:
            return {**self._reports[month], "is_cached": True}
        report = self._records.one(
            Report,
            """SELECT CAST(:month AS TEXT) AS month, count(*) FILTER (WHERE status IN ('completed', 'processing')) AS orders,
                      round(coalesce(sum(total) FILTER (WHERE status IN ('completed', 'processing')), 0), 2) AS revenue,
                      round(coalesce(sum(total) FILTER (WHERE status = 'refunded'), 0), 2) AS refunds,
                      count(DISTINCT customer_id) AS customers FROM orders WHERE substr(date, 1, 7) = :month""",
            month=month,
        )
        best = self.top_products(f"{month}-01", f"{month}-31", limit=5)
        if len(self._reports) >= KEPT:
            self._reports.pop(next(iter(self._reports)))
        self._reports[month] = {**report, "best": best, "is_cached": False}
        return self._reports[month]


if __name__ == "__main__":
    parser = arguments("Omniops: analytics", port=PORT)
    parser.add_argument("--db", type=Path, help="another database of the same form")
    chosen = parser.parse_args()
    records = chosen_records(chosen.db)
    serve(server_of("omniops-analytics", Analytics(records), Conversations(records)), chosen.http)
