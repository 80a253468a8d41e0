"""Products are found by what people mean: more often than by the letters or the words of the query."""

import re
import sqlite3
from collections.abc import Callable

import pytest

from examples.omniops.search import Search
from examples.omniops.stored import open_copy_of
from examples.records import Records
from gristmill.catalog.search.search_terms import extract_terms

KINDS = {
    "something to keep coffee hot": "travel mug",
    "light to wear on my forehead": "headlamp",
    "a flashlight": "headlamp",
    "sneakers": "running shoes",
    "boil water for tea": "kettle",
    "frying pan": "skillet",
    "charge my phone on the go": "power bank",
    "listen to music without cables": "wireless earbuds",
    "shelter to sleep outdoors": "tent",
    "keep drinks cold": "cooler",
    "protects against wet weather": "rain jacket",
    "trim the hedges": "pruning shears",
    "move soil around the yard": "wheelbarrow",
    "skipping for cardio": "jump rope",
    "lift weights at home": "dumbbell set",
    "video calls": "webcam",
    "read novels": "e-reader",
    "typing": "keyboard",
    "purify stream water": "water filter",
    "warm hands": "gloves",
    "brown bread for breakfast": "toaster",
    "chop vegetables": "chef knife",
    "cycling indoors": "exercise bike",
    "shade from the sun": "sun hat",
    "stretching on the floor": "yoga mat",
    "wool socks": "wool socks",
    "quiet exercise bike": "exercise bike",
    "tent for beginners": "tent",
}
"""What people ask for, and the kind of product that they mean; the last three name it themselves."""
ASKED = 5

Find = Callable[[str], list[str]]
"""Names of the first products for a query."""


@pytest.fixture(scope="module")
def shop() -> Records:
    return open_copy_of(None)


@pytest.fixture(scope="module")
def search(shop: Records) -> Search:
    return Search(shop)


def test_a_mug_is_found_by_what_it_is_for(search: Search) -> None:
    query = "something to keep coffee hot"
    found = search.search_products(query, limit=ASKED)

    assert all("travel mug" in product["name"] for product in found)
    assert "insulated" in f"{found[0]['name']} {found[0]['description']}"
    shared = set(extract_terms(query)) & {
        term for product in found for term in extract_terms(f"{product['name']} {product['description']}")
    }
    assert not shared, "no word of the query stands in what was found"


def test_meaning_finds_more_of_what_people_ask_for_than_letters_or_words(search: Search, shop: Records) -> None:
    by_meaning = _share(lambda query: [product["name"] for product in search.search_products(query, limit=ASKED)])
    by_words = _share(_full_text(shop.connection))
    by_letters = _share(_like(shop.connection))

    assert by_meaning > 0.7
    assert by_words < 0.4
    assert by_letters < 0.4


def test_words_that_a_product_names_come_first(search: Search) -> None:
    found = search.search_products("Foxglove kettle", limit=3)

    assert [product["name"].split()[0] + " " + product["name"].split()[-1] for product in found] == ["Foxglove kettle"] * 3


def test_a_query_without_a_known_word_finds_nothing(search: Search) -> None:
    assert search.search_products("") == search.search_products("  \"'") == []


def test_every_product_has_its_vector_beside_it(shop: Records) -> None:
    sql = "SELECT count(*), min(length(vector)), max(length(vector)) FROM products JOIN product_vectors USING (sku)"

    assert tuple(shop.connection.execute(sql).fetchone()) == (5_000, 684, 684)


def _share(find: Find) -> float:
    """Of the first five products for each query, how many are of the kind that was meant."""
    return sum(kind in name for query, kind in KINDS.items() for name in find(query)) / (ASKED * len(KINDS))


def _full_text(connection: sqlite3.Connection) -> Find:
    connection.executescript("""CREATE VIRTUAL TABLE full_text USING fts5 (name, description, category, tokenize = 'porter unicode61');
        INSERT INTO full_text SELECT name, description, category FROM products""")

    def find(query: str) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query))
        sql = "SELECT name FROM full_text WHERE full_text MATCH ? ORDER BY bm25(full_text, 4, 1, 2) LIMIT ?"
        return [name for (name,) in connection.execute(sql, (words, ASKED))]

    return find


def _like(connection: sqlite3.Connection) -> Find:
    def find(query: str) -> list[str]:
        words = re.findall(r"\w+", query)
        matches = " + ".join("(name || ' ' || description LIKE '%' || ? || '%')" for _ in words)
        sql = f"SELECT name FROM products WHERE {matches} > 0 ORDER BY {matches} DESC, sku LIMIT {ASKED}"
        return [name for (name,) in connection.execute(sql, words * 2)]

    return find
