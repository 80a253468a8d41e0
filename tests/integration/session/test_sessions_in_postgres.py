"""What holds of sessions in SQLite holds in PostgreSQL: the same tests."""

from tests.unit.session.test_session_register import *  # noqa: F403
