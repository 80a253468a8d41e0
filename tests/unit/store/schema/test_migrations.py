"""The list of migrations: numbered without gaps, and the first never changes."""

import hashlib

from gristmill.store.schema.migrations import MIGRATIONS


def test_migrations_are_numbered_from_one_without_gaps_and_have_names_of_their_own() -> None:
    assert [each.number for each in MIGRATIONS] == list(range(1, len(MIGRATIONS) + 1))
    assert len({each.name for each in MIGRATIONS}) == len(MIGRATIONS)


def test_every_statement_has_a_form_for_both_databases() -> None:
    for migration in MIGRATIONS:
        assert all(migration.list_statements("SQLite"))
        assert all(migration.list_statements("PostgreSQL"))


def test_migrations_that_stores_have_gone_through_do_not_change() -> None:
    """A change would never reach the stores that have the version already: write another migration instead."""
    texts = ["\n".join(" ".join(each.split()) for each in migration.list_statements("SQLite")) for migration in MIGRATIONS]
    assert [hashlib.sha256(text.encode()).hexdigest()[:16] for text in texts] == DIGESTS


DIGESTS = [
    "59b9a5a80db09c2b", "820a7f3e34757439", "0c39df5e86551c1a", "939a7a21f1a377b0", "900fc31192cd1cec", "a32e7e554fa22a65",
    "7653b6f2a046d055", "569f311cf59c753f",
]  # fmt: skip
