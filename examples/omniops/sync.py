"""The supplier's feed and our catalogue: what is new, changed and gone."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from examples.omniops.meaning import to_vectors
from examples.omniops.rows import FeedRow, Product, ProductChange, SyncSummary
from examples.omniops.shops.shop import Shop
from examples.records import Records
from examples.serving import reads, writes

PAGE = 250
SAMPLE, SAMPLE_CHARACTERS = 10, 200
"""How many changes an answer shows, and how much of each field."""
_PUT = """INSERT INTO products VALUES (:sku, :name, :description, :category, :brand, :price, :updated_at)
          ON CONFLICT (sku) DO UPDATE SET name = :name, description = :description, category = :category, brand = :brand,
          price = :price, updated_at = :updated_at"""
_PUT_VECTOR = "INSERT INTO product_vectors VALUES (:sku, :vector) ON CONFLICT (sku) DO UPDATE SET vector = :vector"
_FIELDS = ("name", "description", "category", "brand", "price")


class Sync:
    """Tools about the supplier's feed."""

    def __init__(self, records: Records, shop: Shop) -> None:
        self._records, self._shop = records, shop

    @reads
    def list_feed(self, since: str, offset: int = 0, limit: int = PAGE) -> list[FeedRow]:
        """A page of the supplier's products that changed since a day, oldest first; an empty page is the end."""
        return list(islice(self._shop.products_since(since, offset), max(0, min(limit, 1_000))))

    @reads
    def get_products_by_sku(self, skus: list[str]) -> list[Product]:
        """Products of our own catalogue by their SKUs (at most 1,000); those we do not have are left out."""
        asked = {f"sku{place}": sku for place, sku in enumerate(skus[:1_000])}
        if not asked:
            return []
        marks = ", ".join(f":{name}" for name in asked)
        sql = (
            f"SELECT sku, name, description, category, brand, price, updated_at FROM products WHERE sku IN ({marks}) ORDER BY sku"
        )
        return self._records.rows(Product, sql, **asked)

    @writes
    def sync_products(self, last_sync: str, apply: bool = False) -> SyncSummary:
        """Compare our catalogue with the supplier's changes since the last sync; with apply, write the difference to ours. The
        answer has counts and up to ten of the changes.
        """
        counts = {"added": 0, "changed": 0, "removed": 0, "unchanged": 0}
        changes: list[ProductChange] = []
        for row, known in self._pairs(last_sync):
            kind = _difference(row, known)
            counts[kind] += 1
            if kind != "unchanged" and len(changes) < SAMPLE:
                changes.append(_describe_change(kind, row, known))
            if apply and kind != "unchanged":
                self._write(row)
        return {
            "checked": sum(counts.values()),
            "added": counts["added"],
            "changed": counts["changed"],
            "removed": counts["removed"],
            "unchanged": counts["unchanged"],
            "changes": changes,
            "applied": apply,
        }

    def _pairs(self, since: str) -> Iterator[tuple[FeedRow, Product | None]]:
        """The feed page by page, each product beside ours, so that memory stays small however long the feed is."""
        feed = self._shop.products_since(since)
        while page := list(islice(feed, PAGE)):
            ours = {product["sku"]: product for product in self.get_products_by_sku([row["sku"] for row in page])}
            yield from ((row, ours.get(row["sku"])) for row in page)

    def _write(self, row: FeedRow) -> None:
        if row["is_gone"]:
            for table in ("products", "product_vectors"):
                self._records.change(f"DELETE FROM {table} WHERE sku = :sku", sku=row["sku"])
        else:
            self._records.change(_PUT, **{name: value for name, value in row.items() if name != "is_gone"})
            (vector,) = to_vectors([row])
            self._records.change(_PUT_VECTOR, sku=row["sku"], vector=vector)


def _difference(row: FeedRow, known: Product | None) -> str:
    if row["is_gone"]:
        return "removed" if known else "unchanged"
    if known is None:
        return "added"
    return "changed" if any(row[field] != known[field] for field in _FIELDS) else "unchanged"


def _describe_change(kind: str, row: FeedRow, known: Product | None) -> ProductChange:
    """The fields that differ; of a product that is new or gone, its name and price."""
    fields = [field for field in _FIELDS if known and row[field] != known[field]] if kind == "changed" else ["name", "price"]
    return {
        "sku": row["sku"],
        "kind": kind,
        "before": _shorten(known, fields) if known else {},
        "after": {} if kind == "removed" else _shorten(row, fields),
    }


def _shorten(product: Product, fields: Sequence[str]) -> dict[str, str | float]:
    values: Mapping[str, Any] = product
    return {field: values[field][:SAMPLE_CHARACTERS] if isinstance(values[field], str) else values[field] for field in fields}
