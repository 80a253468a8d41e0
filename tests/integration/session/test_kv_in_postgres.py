"""What holds of values in SQLite holds in PostgreSQL: the same tests."""

from tests.unit.session.test_key_values import *  # noqa: F403
