"""What holds of skills in SQLite holds in PostgreSQL: the same tests."""

from tests.unit.session.test_skills import *  # noqa: F403
