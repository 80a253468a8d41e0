"""``python -m examples.omniops.search``: finding products by what people mean.

A query is compared with every product by meaning (``meaning.py``) and by the words they share.
"""

from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TypedDict, cast

import numpy as np

from examples.omniops.meaning import Index
from examples.omniops.rows import Category, Product
from examples.omniops.stored import chosen_records
from examples.records import Records
from examples.serving import arguments, reads, serve, server_of

PORT = 8031
MOST = 1_000
"""Products in one answer."""
_PRODUCT = "SELECT p.sku, p.name, p.description, p.category, p.brand, p.price, p.updated_at FROM products p"


class _Stored(Product):
    vector: str


class _Shelf(TypedDict):
    products: list[Product]
    index: Index


class Search:
    """Tools for finding products. What is for sale is read at the first question."""

    def __init__(self, records: Records) -> None:
        self._records = records

    @reads
    def search_products(self, query: str, category: str | None = None, max_price: float = 1e9, limit: int = 20) -> list[Product]:
        """Products that fit a query in everyday words, best first; optionally of one category and up to a price."""
        scores = self._shelf["index"].scores(query)
        # Rounded, so that products of the same words stay in the order of their SKUs.
        order: list[int] = np.argsort(-np.round(scores, 4), kind="stable").tolist()
        best = (self._shelf["products"][place] for place in order if scores[place] > 0)
        fitting = (each for each in best if each["price"] <= max_price and category in (None, each["category"]))
        return list(islice(fitting, max(0, min(limit, MOST))))

    @reads
    def get_product(self, sku: str) -> Product:
        """One product by its SKU."""
        return self._records.one(Product, f"{_PRODUCT} WHERE p.sku = :sku", sku=sku)

    @reads
    def similar_products(self, sku: str, limit: int = 10) -> list[Product]:
        """Products like a given one, most alike first."""
        found = self.search_products(self.get_product(sku)["name"], limit=limit + 1)
        return [product for product in found if product["sku"] != sku][:limit]

    @reads
    def list_categories(self) -> list[Category]:
        """Categories and how many products each has."""
        return self._records.rows(
            Category, "SELECT category, count(*) AS products FROM products GROUP BY category ORDER BY category"
        )

    @cached_property
    def _shelf(self) -> _Shelf:
        sql = _PRODUCT.replace(" FROM", ", v.vector FROM") + " JOIN product_vectors v ON v.sku = p.sku ORDER BY p.sku"
        stored = self._records.rows(_Stored, sql)
        vectors = [cast("dict[str, str]", row).pop("vector") for row in stored]
        products = cast("list[Product]", stored)
        return {
            "products": products,
            "index": Index.of(vectors, [f"{p['name']} {p['description']} {p['category']}" for p in products]),
        }


if __name__ == "__main__":
    parser = arguments("Omniops: product search", port=PORT)
    parser.add_argument("--db", type=Path, help="another database of the same form")
    chosen = parser.parse_args()
    serve(server_of("omniops-search", Search(chosen_records(chosen.db))), chosen.http)
