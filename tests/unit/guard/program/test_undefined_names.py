"""The names that a program does not define get their meanings; its own never do."""

import pytest

from gristmill.catalog.catalog import Catalog
from gristmill.guard.program.check_program import check_program, read_and_check
from gristmill.guard.program.known_tools import KnownServer, KnownTools
from gristmill.guard.program.undefined_names import build_name_meanings, has_undefined_names
from gristmill.model import Tool

KEYS = ["pam.get_expenses", "google-drive.getDocument", "crm.search", "notes.search", "disk.read_file", "disk.print"]
CATALOG = Catalog.from_tools(Tool(server=key.partition(".")[0], name=key.partition(".")[2]) for key in KEYS)
KNOWN = KnownTools(
    servers=tuple(
        KnownServer(
            name=server, module=module, tools={CATALOG.functions[tool.key]: tool for tool in CATALOG.tools_of_server(server)}
        )
        for server, module in CATALOG.modules.items()
    )
)
MEANINGS = build_name_meanings(KNOWN.servers, {"late"}, CATALOG.loose_names)


def meanings(code: str) -> dict[str, str]:
    return dict(read_and_check(code, KNOWN, MEANINGS).names)


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("pam.get_expenses()", {"pam": "server:pam"}),
        ("googleDrive.getDocument()", {"googleDrive": "server:google_drive"}),
        ("late.anything()", {"late": "server:late"}),
        ("getExpenses()", {"getExpenses": "tool:pam.get_expenses"}),
        ("def f():\n    return get_expenses()", {"get_expenses": "tool:pam.get_expenses"}),
        ("search('x')", {"search": "path:search"}),
        ("mcp__pam__get_expenses()", {"mcp__pam__get_expenses": "tool:pam.get_expenses"}),
        ("mcp__pam__nothing()", {"mcp__pam__nothing": "path:mcp__pam__nothing"}),
        ("tools.pam.get_expenses()", {"tools": "space:"}),
        ("callMCPTool('x', {})", {"callMCPTool": "word:call_tool"}),
        ("list_directory('notes')", {"list_directory": "word:list_directory"}),
        ("read_file('a')", {"read_file": "word:read_file:disk.read_file"}),
        ("import os\nos.listdir('servers')", {"": "files:"}),
        ("open('./servers/pam/x.py')", {"": "files:"}),
        ("import pam\npam.get_expenses()", {"import pam": "module:server:pam"}),
        ("from client import call_mcp_tool\ncall_mcp_tool('pam.get_expenses')", {"import client": "module:client"}),
        ("from tools.pam import get_expenses", {"import tools": "module:space"}),
        ("from servers.notes import *\nsearch('x')", {"search": "tool:notes.search"}),
    ],
)
def test_meanings(code: str, names: dict[str, str]) -> None:
    assert meanings(code) == names


@pytest.mark.parametrize(
    "code",
    [
        "print(1)", "from servers import pam\npam.get_expenses()", "pam = 1\npam", "def search(): pass\nsearch()", "x.search()",
        "class pam: pass\npam()", "for search in []: search()", "try:\n    search\nexcept NameError:\n    search = 1",
        "def f():\n    global pam\n    pam = 1\nf()\npam.x", "import re as search\nsearch.compile", "'pam' + \"search\"", "SEARCH = 1",
        "with open('x') as search: search.read()", "unknown()", "match 1:\n    case search:\n        search()", "x = = pam",
        "from mcp import ClientSession", "from client import Client", "from tools.other import x", "from mcp.client import stdio",
        "try:\n    import pam\nexcept ImportError:\n    pam = None", "try:\n    import tools\nexcept ImportError:\n    tools = None",
    ],
)  # fmt: skip
def test_names_of_the_program_mean_what_it_says(code: str) -> None:
    assert meanings(code) == {}


def test_a_wrong_name_is_certain_only_where_no_earlier_program_can_have_defined_it() -> None:
    code = "pam.get_expnses()"
    assert [str(each) for each in check_program(code, KNOWN, MEANINGS)] == [
        "line 1, column 1: pam has no tool 'get_expnses'; write get_expenses"
    ]
    assert [each.certain for each in check_program(code, KNOWN, MEANINGS)] == [True]
    assert [each.certain for each in check_program(code, KNOWN, MEANINGS, fresh=False)] == [False]


def test_a_name_that_an_earlier_program_may_have_bound_is_not_called_ambiguous() -> None:
    assert ["several servers" in str(each) for each in check_program("search('x')", KNOWN, MEANINGS)] == [True]
    assert check_program("search('x')", KNOWN, MEANINGS, fresh=False) == ()


@pytest.mark.parametrize(
    ("code", "undefined"),
    [
        ("print(1)", False), ("x = 1\ndef f(y):\n    return x + y + len([])", False), ("pam.x()", True), ("def f():\n    return pam", True),
        ("import pam\npam.x()", False), ("x = [y for y in range(3)]", False), ("await thing()", True), ("x = = 1", False),
        ("def f():\n    global g\n    g = 1\ng", False), ("class A:\n    b = 1\n    c = b", False),
    ],
)  # fmt: skip
def test_programs_with_undefined_names(code: str, undefined: bool) -> None:
    assert has_undefined_names(code) is undefined
