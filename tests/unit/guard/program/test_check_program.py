"""A program before it runs: what is wrong, where, what to write, and never a certain word about code that may be right."""

import ast
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.guard.program.check_program import MOST_CHARS, MOST_PROBLEMS, check_program
from gristmill.guard.program.known_tools import KnownServer, KnownTools
from gristmill.guard.program.program_problems import build_refusal
from gristmill.model import Tool
from tests.integration.test_programs import CALLS, ENDINGS, HEAD, PARALLEL

ROOT = Path(__file__).parents[4]


def tool(server: str, name: str, required: tuple[str, ...] = (), *, extra: Any = None, **properties: Any) -> Tool:
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": list(required)}
    schema |= {} if extra is None else {"additionalProperties": extra}
    return Tool(server=server, name=name, input_schema=schema)


TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
CRM = KnownServer(
    name="crm",
    module="crm",
    tools={
        "find": tool("crm", "find", ("q",), q=TEXT, limit=NUMBER, extra=False),
        "get_user": tool(
            "crm", "get-user", ("user-id",), **{"user-id": NUMBER, "fields": {"anyOf": [{"type": "array"}, {"type": "null"}]}}
        ),
        "search": tool("crm", "search", extra=True, state={"type": "string", "enum": ["open", "closed"]}),
    },
)
MAIL = KnownServer(name="my-mail", module="my_mail", tools={"send": tool("my-mail", "send", ("to",), to=TEXT)})


def python_names(names: Iterable[str]) -> Mapping[str, str]:
    return {name: name.replace("-", "_") for name in names}


KNOWN = KnownTools(
    servers=(CRM, MAIL), unlisted=frozenset({"later"}), importable=frozenset(sys.stdlib_module_names), workspace=lambda: {"helper"},
    argument_names=python_names,
)  # fmt: skip


def found(code: str, known: KnownTools = KNOWN) -> list[tuple[int, str, bool]]:
    return [(problem.line, f"{problem.message}; {problem.fix}", problem.certain) for problem in check_program(code, known)]


CERTAIN = {
    "from servers import crn": (1, "there is no server 'crn'; write crm"),
    "from servers import git": (1, "there is no server 'git'; there are crm, my_mail"),
    "import servers.crn": (1, "there is no server 'crn'; write crm"),
    "from servers import crn\nprint(crn.find)": (1, "there is no server 'crn'; write crm"),
    "from servers import crn\ncrn.find('a')": (2, "there is no server 'crn'; write crm"),
    "from servers.crn import find\nfind('a')": (2, "there is no server 'crn'; write crm"),
    "from servers.crm import fnd": (1, "crm has no tool 'fnd'; write find"),
    "import servers.crn\nservers.crn.find('a')": (2, "there is no server 'crn'; write crm"),
    "from servers import crm\ncrm.fnd(q='a')": (2, "crm has no tool 'fnd'; write find"),
    "from servers import crm as c\nx = [1, c.fnd]": (2, "crm has no tool 'fnd'; write find"),
    "import servers.crm as c\nawait c.fnd()": (2, "crm has no tool 'fnd'; write find"),
    "import servers\nprint(servers.crm.fnd('a'))": (2, "crm has no tool 'fnd'; write find"),
    "from servers import crm\ncrm.send(to='a')": (2, "crm has no tool 'send'; my_mail has it: from servers.my_mail import send"),
    "from servers import crm\ncrm.zzz()": (2, "crm has no tool 'zzz'; it has find, get_user, search"),
    "from servers import crm\ncrm.find('a', limitt=3)": (2, "crm.find has no argument 'limitt'; write 'limit'"),
    "from servers import crm\ncrm.get_user(user=3, user_id=4)": (2, "crm.get_user has no argument 'user'; write 'user_id'"),
    "from servers import crm\ncrm.find(limit=3)": (2, "crm.find needs q; add q"),
    "from servers.crm import find\nfind()": (2, "crm.find needs q; add q"),
    "from servers import crm\ncrm.find('a', 1, 2)": (2, "crm.find takes 2 arguments, not 3; it takes q, limit"),
    "from servers import crm\ncrm.find('a', q='b')": (2, "crm.find gets q twice, by position and by name; pass it once"),
    "from servers import crm\ncrm.find(5)": (2, "crm.find: q is integer, not string; pass string"),
    "from servers import crm\ncrm.search(state='opened')": (2, "crm.search: state cannot be 'opened'; write 'open'"),
    "from servers import crm\ncrm.get_user(1, fields='a,b')": (2, "crm.get_user: fields is string, not array or null; pass array or null"),
    "from mcp_client import call_mcp_tool\ncall_mcp_tool('crm.fnd')": (2, "crm has no tool 'fnd'; write find"),
    "from mcp_client import call_mcp_tool as c\nc('crn.find', {})": (2, "there is no server 'crn'; write crm"),
    "import mcp_client\nmcp_client.call_mcp_tool('crm.find', {'limit': 1})": (2, "crm.find needs q; add q"),
    "import mcp_client\nmcp_client.call_mcp_tool('crm.find', {'q': 'a'}, limitt=1)": (2, "crm.find has no argument 'limitt'; write 'limit'"),
    "import mcp_client\nmcp_client.call_mcp_tool('my-mail.send', to=['a'])": (2, "my-mail.send: to is array, not string; pass string"),
    "import jsn": (1, "jsn is not installed in the sandbox; write json"),
    "import json\ndef f():\n    return json.dumps(1)\nimport torchvision": (4, "torchvision is not installed in the sandbox; do without it, or have it added to sandbox.packages"),
    "from servers import crm\nif __name__ == '__main__':\n    crm.fnd()": (3, "crm has no tool 'fnd'; write find"),
}  # fmt: skip


CONVERTED = [
    "from servers import crm\ncrm.get_user('1')",
    "from servers import crm\ncrm.get_user(1, fields='a')",
    "from servers import crm\ncrm.get_user(1, fields='[\"a\"]')",
    "from servers import crm\ncrm.find('a', limit='3')",
    "from servers import crm\ncrm.find('a', limit=None)",
    "from servers import crm\nuser = 7\ncrm.get_user(f'{user}')",
]


@pytest.mark.parametrize("code", CONVERTED)
def test_a_literal_that_the_call_converts_is_no_problem(code: str) -> None:
    assert found(code) == []


@pytest.mark.parametrize("code", CERTAIN)
def test_what_no_run_survives_is_certain(code: str) -> None:
    assert (*CERTAIN[code], True) in found(code)


ADVICE = [
    "from servers import crm\ntry:\n    crm.fnd()\nexcept AttributeError:\n    pass",
    "from servers import crm\nif x:\n    crm.fnd()",
    "from servers import crm\ny = x and crm.fnd()",
    "from servers import crm\ny = crm.fnd() if x else 1",
    "from servers import crm\nfor i in x:\n    crm.fnd()",
    "from servers import crm\nwith suppress(AttributeError):\n    crm.fnd()",
    "from servers import crm\n[crm.fnd(i) for i in x]",
    "from servers import crm\ndef f():\n    crm.fnd()",
    "from servers import crm\nf = lambda: crm.fnd()",
    "def f():\n    from servers import crm\n    crm.fnd()",
    "from servers import crm\nif x:\n    return 1\ncrm.fnd()",
    "from servers import crm\nimport sys\nsys.exit(0)\ncrm.fnd()",
    "from servers import crm\ndef main():\n    raise SystemExit\nmain()\ncrm.fnd()",
    "from servers import crm\nfrom math import *\ncrm.fnd()",
    "from servers import crm\ncrm.fnd = print\ncrm.fnd()",
    "from servers import crm\nsetattr(crm, 'fnd', print)\ncrm.fnd()",
    "from servers import crm\ncrm = Other()\ncrm.fnd()",
    "from servers import crm\ndef f(crm):\n    return crm.fnd()",
    "crm.fnd()\nfrom servers import crm\ncrm.find('a')\nif x:\n    crm.fnd()",
    "from servers import crm\nwhile x:\n    crm.fnd()",
    "from servers import crm\nmatch x:\n    case 1:\n        crm.fnd()",
    "from mcp_client import call_mcp_tool\nimport asyncio\nawait asyncio.gather(call_mcp_tool('crm.fnd'), return_exceptions=True)",
    "from servers import crm\nimport asyncio\na = crm.find(5)\ntry:\n    await a\nexcept Exception:\n    pass",
    "import mcp_client\nmcp_client.call_mcp_tool('my-mail.send', to='a', subjct='b')",
    "open('gen.py', 'w').write('')\nimport gen",
    "import helper\nimport made_by_helper",
    "if x:\n    import torch",
]  # fmt: skip


@pytest.mark.parametrize("code", ADVICE)
def test_code_that_may_still_be_right_gets_advice_only(code: str) -> None:
    assert {certain for _, _, certain in found(code)} == {False}


NOTHING = [
    "from servers import crm\ncrm.find('a', limit=3)\ncrm.get_user(user_id=1, fields=None)\ncrm.search(anything=1)",
    "from servers import crm\ncrm.find(*args)\ncrm.find(**more)\ncrm.find(q, limit=n)",
    "from servers import my_mail\nmy_mail.send('a')",
    "from servers.crm.find import find\nfind('a')",
    "from servers.crm.find import FindResult\nFindResult()",
    "from servers import crm\ncrm.__name__, crm._TOOLS, dir(crm)",
    "from servers import later\nlater.anything(1)\nfrom servers.later import x",
    "from mcp_client import call_mcp_tool, ToolError\ncall_mcp_tool(name)\ncall_mcp_tool('later.x')\ncall_mcp_tool('gristmill.search_tools', {})",
    "from mcp_client import call_mcp_tool\ncall_mcp_tool('crm.get_user', {'user-id': 1})\ncall_mcp_tool('crm.find', arguments)\ncall_mcp_tool('crm.find', {**a})",
    "import helper, json\nfrom tool_discovery import search_tools\nfrom skills import report",
    "try:\n    import torch\nexcept ImportError:\n    torch = None",
    "from . import x",
    "x = (",
    "from servers import crm\ncrm.find('a', limit=5.0)\ncrm.find(f'{x}', -1)",
]  # fmt: skip


@pytest.mark.parametrize("code", NOTHING)
def test_nothing_is_said_of_what_is_right_or_unknown(code: str) -> None:
    assert found(code) == []


def test_all_problems_are_reported_at_once_in_order() -> None:
    code = "from servers import crm, crn\nx = crm.fnd()\ny = crm.find(limit='a')\n"
    assert [line for line, _, _ in found(code)] == [1, 2, 3, 3]
    refused = build_refusal(check_program(code, KNOWN))
    assert refused is not None
    assert (refused.rule, len(refused.message.splitlines())) == ("code.check", 5)


def test_advice_alone_refuses_nothing() -> None:
    assert build_refusal(check_program("from servers import crm\nif x:\n    crm.fnd()", KNOWN)) is None
    assert build_refusal(()) is None


def test_without_typed_modules_python_refuses_nothing_by_itself() -> None:
    code = "from servers import crm\nimport asyncio\nawait asyncio.gather(crm.fnd(), return_exceptions=True)"
    untyped = KnownTools(servers=(CRM,), typed=False)
    assert [certain for _, _, certain in found(code, untyped)] == [False]
    assert [certain for _, _, certain in found("from servers import crm", KnownTools())] == [False]


def test_a_server_that_may_have_more_tools_is_not_judged_by_name() -> None:
    partly = KnownTools(servers=(KnownServer(name="crm", module="crm", tools=CRM.tools, complete=False),))
    assert [certain for _, _, certain in found("import mcp_client\nmcp_client.call_mcp_tool('crm.huge')", partly)] == [False]


ODD: list[dict[str, Any]] = [
    {"anyOf": [{"properties": {"a": {}}}]},
    {"$ref": "#/x"},
    {"properties": []},
    {"properties": {}, "required": "a"},
]


@pytest.mark.parametrize("schema", ODD)
def test_a_schema_that_is_not_simple_is_not_held_against_a_call(schema: dict[str, Any]) -> None:
    odd = KnownServer(name="odd", module="odd", tools={"x": Tool(server="odd", name="x", input_schema=schema)})
    assert found("from servers import odd\nodd.x(1, 2, b=3)", KnownTools(servers=(odd,))) == []


def test_a_word_that_is_not_understood_makes_types_advice() -> None:
    odd = KnownServer(name="odd", module="odd", tools={"x": tool("odd", "x", a={"type": "string", "pattern": "("})})
    assert [certain for _, _, certain in found("from servers import odd\nodd.x(a=1)", KnownTools(servers=(odd,)))] == [False]


@pytest.mark.parametrize(
    "code",
    [
        "from servers import crm\n" + "x+" * 20_000 + "x",
        "import servers\n" + "(" * 150 + ")" * 150,
        "servers\n" * MOST_CHARS,
        "import servers\n" + "-" * 50_000 + "1",
    ],
)
def test_monstrous_code_is_left_to_the_sandbox(code: str) -> None:
    assert check_program(code, KNOWN) == ()


def test_there_is_an_end_to_the_list() -> None:
    assert len(check_program("from servers import crm\n" + "crm.fnd()\n" * 100, KNOWN)) == MOST_PROBLEMS


def test_strange_escapes_in_strings_warn_nobody() -> None:
    assert check_program("from servers import crm\nx = '\\d'", KNOWN) == ()


@given(st.lists(st.sampled_from([*CERTAIN, *ADVICE, *NOTHING]), min_size=1, max_size=3))
def test_whatever_stands_in_a_try_is_never_certain(parts: list[str]) -> None:
    body = "\n".join("    " + line for line in "\n".join(parts).splitlines())
    code = f"try:\n{body}\nexcept BaseException:\n    pass"
    try:
        ast.parse(code)
    except SyntaxError:
        return
    assert not any(problem.certain for problem in check_program(code, KNOWN))


# -- programs that are right ----------------------------------------------------------------------------------------------

TESTED = KnownServer(
    name="crm",
    module="crm",
    tools={
        "find": tool("crm", "find", ("q",), q=TEXT, limit=NUMBER), "get": tool("crm", "get", ("number",), number=NUMBER),
        "slow": tool("crm", "slow", number=NUMBER), "fail": tool("crm", "fail"), "rows": tool("crm", "rows", ("count",), count=NUMBER),
    },
)  # fmt: skip
SNIPPET_TOOLS = KnownTools(
    servers=(
        KnownServer(name="crm", module="crm", tools={"find": tool("crm", "find", ("id",), id=NUMBER), "get_customer": tool("crm", "get_customer", ("id",), id=NUMBER)}),
        KnownServer(name="shop", module="shop", tools={"list_orders": tool("shop", "list_orders", ("days",), days=NUMBER)}),
    ),
    importable=frozenset({*sys.stdlib_module_names, "pandas", "numpy"}),
)  # fmt: skip
FILES = [*sorted((ROOT / "tests/attack/benign").glob("*.py")), *sorted((ROOT / "bench/snippets").glob("*.py"))]


@pytest.mark.requirement("T53")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_programs_of_the_kind_models_write_have_no_certain_problem(file: Path) -> None:
    assert [problem for problem in check_program(file.read_text(), SNIPPET_TOOLS) if problem.certain] == []


@pytest.mark.requirement("T53")
@pytest.mark.parametrize("name", [*ENDINGS, *CALLS, *PARALLEL])
def test_every_shape_of_call_that_works_has_no_problem_at_all(name: str) -> None:
    code = PARALLEL[name] if name in PARALLEL else (ENDINGS.get(name) or CALLS[name])[0]
    known = KnownTools(servers=(TESTED,), importable=frozenset(sys.stdlib_module_names))
    assert check_program(code if name == "future import" else HEAD + code, known) == ()


@pytest.mark.parametrize(
    ("schema", "flawed"), [({"type": "object"}, False), ({}, False), ({"type": "object", "properties": {}}, True)]
)
def test_a_schema_that_names_no_property_takes_any_argument(schema: dict[str, Any], flawed: bool) -> None:
    server = KnownServer(name="any", module="any", tools={"take": Tool(server="any", name="take", input_schema=schema)})
    known = KnownTools(
        servers=(server,), unlisted=frozenset(), importable=frozenset(), workspace=set[str], argument_names=python_names
    )
    assert bool(found("from servers.any import take\ntake(a=1)", known)) is flawed
