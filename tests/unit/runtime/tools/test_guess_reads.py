"""Which tools only read, guessed by their names."""

import pytest

from gristmill.model import Json, Tool
from gristmill.runtime.tools.guess_reads import guess_read_only


@pytest.mark.parametrize(
    ("name", "annotations", "is_guessed"),
    [
        ("list_tables", {}, True),
        ("read_query", {}, True),
        ("getUserByName", {}, True),
        ("git_status", {}, True),
        ("git_commit", {}, False),
        ("git", {}, False),
        ("write_query", {}, False),
        ("get_or_create_user", {}, False),
        ("query", {}, False),
        ("search", {"readOnlyHint": True}, False),
        ("search", {"readOnlyHint": False}, False),
        ("read_and_forget", {"destructiveHint": True}, False),
    ],
)
def test_only_names_that_say_so_are_guessed(name: str, annotations: dict[str, Json], is_guessed: bool) -> None:
    tool = Tool(server="git", name=name, annotations=annotations)
    assert guess_read_only([tool]) == ((tool.key,) if is_guessed else ())
