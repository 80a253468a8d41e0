"""What holds of skills in SQLite holds in PostgreSQL: the same tests."""

from tests.unit.session.skills.test_skill_store import *  # noqa: F403
