"""Tools are found by names as models write them, and only where there is no doubt."""

import pytest

from gristmill.catalog.catalog import Catalog
from gristmill.errors import UnknownTool
from gristmill.loose_names import MOST_CHARACTERS, fold_name
from gristmill.model import Tool

KEYS = [
    "pam.get_expenses",
    "google-drive.getDocument",
    "github.search-repositories",
    "crm.search",
    "notes.search",
    "my__box.list.all",
]
CATALOG = Catalog.from_tools(Tool(server=key.partition(".")[0], name=key.partition(".")[2]) for key in KEYS)


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("get_expenses", "pam.get_expenses"),
        ("getExpenses", "pam.get_expenses"),
        ("get-expenses", "pam.get_expenses"),
        ("PAM.GetExpenses", "pam.get_expenses"),
        ("pam/get_expenses", "pam.get_expenses"),
        ("pam:get_expenses", "pam.get_expenses"),
        ("pam__get_expenses", "pam.get_expenses"),
        ("pam_get_expenses", "pam.get_expenses"),
        ("mcp__pam__get_expenses", "pam.get_expenses"),
        ("servers.pam.get_expenses", "pam.get_expenses"),
        ("google_drive.get_document", "google-drive.getDocument"),
        ("mcp__google-drive__getDocument", "google-drive.getDocument"),
        ("mcp__my__box__list_all", "my__box.list.all"),
        ("notes.search", "notes.search"),
        ("search_repositories", "github.search-repositories"),
    ],
)
def test_a_tool_has_many_spellings(written: str, key: str) -> None:
    assert CATALOG.get(written).key == key
    assert CATALOG.find_key(written) == key


def test_a_name_of_several_servers_lists_the_candidates() -> None:
    assert CATALOG.find_key("search") is None
    with pytest.raises(UnknownTool, match=r"'search' is a tool of several servers: write one of crm\.search, notes\.search"):
        CATALOG.get("search")


@pytest.mark.parametrize(
    "written", ["", ".", "__", "mcp__", "pam.", ".get_expenses.x", "pam.get_expense", "x" * (MOST_CHARACTERS + 1)]
)
def test_other_names_find_nothing(written: str) -> None:
    assert CATALOG.find_key(written) is None
    with pytest.raises(UnknownTool):
        CATALOG.get(written)


def test_two_tools_that_differ_in_spelling_only_are_told_apart() -> None:
    twins = Catalog.from_tools([Tool(server="a", name="get_user"), Tool(server="a", name="getUser")])
    assert (twins.find_key("a.get_user"), twins.find_key("a.getUser"), twins.find_key("getUser")) == (
        "a.get_user",
        "a.getUser",
        "a.getUser",
    )
    assert twins.find_key("a.get-user") is None


def test_names_are_folded_to_letters_and_digits() -> None:
    assert fold_name("Get-User_2 (all)") == "getuser2all"
