"""``python -m examples.omniops.search``: finding products by what people call them.

Words are stemmed (FTS5, porter) and a few everyday words also find their neighbours. No
embeddings: the sets below are all there is to the meaning.
"""

import re
from pathlib import Path

from examples.cached import made_once, open_read_only
from examples.omniops.rows import Category, Product
from examples.omniops.seed import FILE, build
from examples.records import Records
from examples.serving import arguments, reads, serve, server_of

PORT = 8031
NEIGHBORS = (
    {"torch", "flashlight", "headlamp", "lamp"},
    {"pan", "skillet"},
    {"headphones", "earbuds", "earphones"},
    {"battery", "charger", "bank"},
    {"coat", "jacket", "parka"},
    {"shoes", "sneakers", "trainers"},
    {"weights", "dumbbell", "kettlebell"},
)
_PRODUCT = "SELECT p.sku, p.name, p.description, p.category, p.brand, p.price, p.updated_at FROM products p"


def open_records(path: Path | None) -> Records:
    """The shop; generated on the first call on this machine."""
    return Records(open_read_only(path or made_once(FILE, build)))


class Search:
    """Tools for finding products."""

    def __init__(self, records: Records) -> None:
        self._records = records

    @reads
    def search_products(self, query: str, category: str | None = None, max_price: float = 1e9, limit: int = 20) -> list[Product]:
        """Products that fit a query in everyday words, best first; optionally of one category and up to a price."""
        return self._records.rows(
            Product,
            f"""{_PRODUCT} JOIN product_words w ON w.sku = p.sku WHERE product_words MATCH :words AND p.price <= :price
                AND (:category IS NULL OR p.category = :category)
                ORDER BY bm25(product_words, 0, 4, 1, 2, 1), p.sku LIMIT :limit""",
            words=_expression(query), price=max_price, category=category, limit=limit,
        )  # fmt: skip

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


def _expression(query: str) -> str:
    """The query for FTS5: each word quoted, so that none is an operator, with its neighbours; any word may match."""
    words = re.findall(r"\w+", query.lower())[:20]
    wide = [near for word in words for near in sorted(next((group for group in NEIGHBORS if word in group), {word}))]
    return " OR ".join(f'"{word}"' for word in wide) or '""'


if __name__ == "__main__":
    parser = arguments("Omniops: product search", port=PORT)
    parser.add_argument("--db", type=Path, help="another database of the same form")
    chosen = parser.parse_args()
    serve(server_of("omniops-search", Search(open_records(chosen.db))), chosen.http)
