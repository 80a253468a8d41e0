"""What Tab offers in the shell."""

import pytest

from gristmill.serve.cli.terminal.shell_completion import CompletionNames, complete_word

MODULES = {"crm": ("get_user", "list_users"), "git": ("log",)}


def offered(line: str, names: CompletionNames | None = None) -> list[str]:
    word = line.rsplit(" ", 1)[-1].rsplit("(", 1)[-1].rsplit(",", 1)[-1]
    return complete_word(line, word, names or CompletionNames(modules=MODULES))


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("from servers import ", ["crm", "git"]),
        ("from servers import crm, g", ["git"]),
        ("from servers.c", ["servers.crm"]),
        ("from servers.crm import ", ["get_user", "list_users"]),
        ("from servers.crm import get_user, li", ["list_users"]),
        ("import servers.", ["servers.crm", "servers.git"]),
        ("servers.crm.g", ["servers.crm.get_user"]),
        ("crm.", []),
        (":se", [":search", ":servers"]),
        (":tools c", ["crm"]),
        (":search cr", []),
        ("retu", ["return"]),
    ],
)
def test_servers_and_tools_are_offered_where_they_fit(line: str, found: list[str]) -> None:
    assert offered(line) == found


def test_a_server_under_any_name_offers_its_tools() -> None:
    names = CompletionNames(modules=MODULES)
    names.learn("from servers import crm\nfrom servers import git as g\nimport servers.crm as people")
    assert offered("crm.g", names) == ["crm.get_user"]
    assert offered("print(g.", names) == ["g.log"]
    assert offered("people.l", names) == ["people.list_users"]


def test_names_of_the_session_are_offered_until_they_are_deleted() -> None:
    names = CompletionNames()
    names.learn(
        "total, (rest, *others) = 1, (2, 3)\nfor item in []:\n    inner = 1\nwith open('f') as file: pass\n"
        "def fetch(parameter):\n    local = 1\nclass Order: pass\nif (found := 1): pass\n[hidden for hidden in ()]\nimport os.path"
    )
    assert set(names.bound) == {"total", "rest", "others", "item", "inner", "file", "fetch", "Order", "found", "os"}
    assert offered("tot", names) == ["total"]
    names.learn("del total")
    assert offered("tot", names) == []


def test_code_that_is_no_python_teaches_nothing() -> None:
    names = CompletionNames()
    names.learn("x = (")
    assert names.bound == {}
