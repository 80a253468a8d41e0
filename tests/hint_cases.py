"""The cases of the table of hints: a program, and the whole text of the hint that it gets; shared by two tests."""

import tomllib
from pathlib import Path
from typing import Any

CASES: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "data" / "hints.toml").read_text(encoding="utf-8"))["case"]


def get_expenses(user_id: int, category: str = "all") -> list[dict[str, Any]]:
    """Expenses of a user."""
    rows = [
        {"id": 1, "amount": 12.5, "category": "fuel", "at": {"day": "2026-05-02", "place": "Ulm"}},
        {"id": 2, "amount": 3.0, "category": "food", "at": {"day": "2026-05-03", "place": "Ulm"}},
    ]
    return [row for row in rows if category in ("all", row["category"]) and user_id]


def get_trip(trip_id: int) -> dict[str, Any]:
    """A trip."""
    if trip_id == 13:
        raise ValueError("trip 13 does not exist")
    return {"id": trip_id, "stops": [{"city": "Ulm", "nights": 2}], "owner": {"name": "Ann"}}


def read_note(name: str) -> str:
    """A tool that answers with the text of an error."""
    return f"Error: there is no note {name}"


def find_park(name: str) -> dict[str, Any]:
    """A tool that answers with an error in an object."""
    return {"error": f"no park named {name}"}


def find_trip(name: str) -> None:
    """A tool that answers with nothing."""
    assert name


def count_trips() -> int:
    """A tool that answers with a number."""
    return 3


def count_by_owner() -> dict[str, int]:
    """A tool whose keys are data."""
    return {"ann.smith@example.org": 3, "a-rather-long-name-of-ann.smith@a-rather-long-name.example.org": 4}


def order(item: str) -> dict[str, Any]:
    """A tool that needs approval."""
    return {"item": item, "paid": True}


def delete(item: str) -> None:
    """A tool that is denied."""
    assert item


TOOLS = {
    "pam.get_expenses": get_expenses, "pam.get_trip": get_trip, "pam.read_note": read_note, "pam.find_park": find_park,
    "pam.find_trip": find_trip, "pam.count_trips": count_trips, "pam.count_by_owner": count_by_owner, "shop.order": order, "shop.delete": delete,
}  # fmt: skip
POLICY = {"allow": ("pam.*",), "ask": ("shop.order",), "deny": ("shop.delete",)}
