"""The tools that the shapes call: Python functions with the names and the results that real servers have."""

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field

ROWS = [
    {"id": 1, "user_id": 7, "category": "fuel", "amount": 60.5},
    {"id": 2, "user_id": 7, "category": "food", "amount": 20.0},
    {"id": 3, "user_id": 8, "category": "fuel", "amount": 40.0},
]


def get_expenses(user_id: int, category: str | None = None, limit: int = 100) -> list[dict[str, Any]]:
    """Lists the expenses of a traveller."""
    return [row for row in ROWS if row["user_id"] == user_id and category in (None, row["category"])][:limit]


def add_expense(user_id: int, amount: float, category: str = "other", tags: list[str] | None = None) -> dict[str, Any]:
    """Adds an expense."""
    return {"id": 4, "user_id": user_id, "amount": amount, "category": category, "tags": tags or []}


def get_document(document_id: Annotated[str, Field(alias="documentId")]) -> dict[str, Any]:
    """Returns a document with its content."""
    return {"documentId": document_id, "content": f"text of {document_id}"}


def search_repositories(query: str, per_page: Annotated[int, Field(alias="per-page")] = 30) -> dict[str, Any]:
    """Finds repositories by words."""
    return {"total": 1, "items": [{"full_name": f"acme/{query}", "stars": per_page}]}


def search_notes(query: str) -> list[str]:
    """Finds notes by words."""
    return [f"note about {query}"]


def search_customers(query: str) -> list[str]:
    """Finds customers by words."""
    return [f"customer {query}"]


def find_customer(fields: dict[str, Any], limit: int = 1) -> dict[str, Any]:
    """Finds customers by their fields."""
    return {"fields": fields, "limit": limit}


TOOLS: dict[str, Callable[..., Any]] = {
    "pam.get_expenses": get_expenses,
    "pam.add_expense": add_expense,
    "google-drive.getDocument": get_document,
    "github.search-repositories": search_repositories,
    "notes.search": search_notes,
    "crm.search": search_customers,
    "crm.find_customer": find_customer,
}
"""Tools by key. ``search`` is a tool of two servers; names of tools and arguments are written in three styles."""
