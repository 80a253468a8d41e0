"""The database adds up, so that only sums leave it; a report is computed once."""

from collections.abc import Callable
from typing import Any

import pytest

from examples.omniops.analytics import KEPT, Analytics
from examples.omniops.stored import open_records
from examples.records import Records

SPAN = ("2025-07-01", "2026-06-30")
FIGURES: dict[str, Callable[[Analytics], list[Any]]] = {
    "sales_by_period": lambda a: a.sales_by_period(*SPAN),
    "revenue_by_country": lambda a: a.revenue_by_country(*SPAN),
    "revenue_by_category": lambda a: a.revenue_by_category(*SPAN),
    "top_products": lambda a: a.top_products(*SPAN, limit=7),
}


class _Counted(Records):
    """Records that count what is read from them."""

    statements = read = 0

    def rows(self, kind: type[Any], sql: str, **parameters: Any) -> list[Any]:
        found = super().rows(kind, sql, **parameters)
        self.statements += 1
        self.read += len(found)
        return found


@pytest.fixture
def records() -> _Counted:
    return _Counted(open_records(None).connection)


@pytest.mark.parametrize("name", FIGURES)
def test_no_more_rows_leave_the_database_than_the_answer_has(records: _Counted, name: str) -> None:
    answer = FIGURES[name](Analytics(records))

    assert 5 < len(answer) < 20
    assert (records.statements, records.read) == (1, len(answer))


def test_the_figures_are_those_of_the_orders_themselves(records: _Counted) -> None:
    sql = "SELECT date, total FROM orders WHERE status IN ('completed', 'processing') AND date BETWEEN ? AND ?"
    sold = records.connection.execute(sql, SPAN).fetchall()
    analytics = Analytics(records)
    months, countries = analytics.sales_by_period(*SPAN), analytics.revenue_by_country(*SPAN)

    assert sum(month["orders"] for month in months) == sum(country["orders"] for country in countries) == len(sold)
    total = sum(row["total"] for row in sold)
    assert sum(month["revenue"] for month in months) == pytest.approx(total)
    assert sum(country["revenue"] for country in countries) == pytest.approx(total)


def test_a_report_is_read_once_from_the_database(records: _Counted) -> None:
    analytics = Analytics(records)
    first = analytics.monthly_report("2026-03")
    before = records.statements
    second = analytics.monthly_report("2026-03")

    assert records.statements == before
    assert (first["is_cached"], second["is_cached"]) == (False, True)
    assert {**second, "is_cached": False} == first


def test_no_more_reports_are_kept_than_there_is_room_for(records: _Counted) -> None:
    analytics = Analytics(records)
    months = [f"{1000 + place}-01" for place in range(KEPT + 1)]
    for month in months:
        analytics.monthly_report(month)

    assert not analytics.monthly_report(months[0])["is_cached"]
    assert analytics.monthly_report(months[-1])["is_cached"]
