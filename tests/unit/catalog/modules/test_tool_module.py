import ast
import re
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.catalog.catalog import Catalog
from gristmill.catalog.modules.python_annotations import build_name
from gristmill.catalog.modules.tool_module import LearnedResultType, build_stub, render_checked_source, render_module
from gristmill.catalog.modules.typescript_module import render_typescript_stub
from gristmill.catalog.python_names import make_python_name
from gristmill.catalog.types.tool_parameters import read_parameters
from gristmill.model import Json, Tool

PWN = "__import__('builtins').__dict__.__setitem__('gristmill_pwned', 1)"
HOSTILE = [
    PWN,
    f'"""\n{PWN}\n"""',
    f"'''\n{PWN}\n'''",
    f'\\"""\n{PWN}#',
    f"x\n{PWN}\n",
    f"x: ({PWN}) = 1",
    f"*/ {PWN}; /*",
    "\\",
    '"',
    "\\N{BULLET}",
    "\r\n\u2028\x00\ud800",
    "../../../../etc/passwd",
    "{0.__class__}",
    "__debug__",
    "None",
    "self",
    "",
]
ALLOWED = (
    ast.Module,
    ast.ImportFrom,
    ast.alias,
    ast.ClassDef,
    ast.FunctionDef,
    ast.arguments,
    ast.arg,
    ast.AnnAssign,
    ast.Assign,
    ast.Expr,
    ast.Constant,
    ast.Name,
    ast.Load,
    ast.Store,
    ast.Subscript,
    ast.Tuple,
    ast.BinOp,
    ast.BitOr,
    ast.Dict,
    ast.Call,
    ast.Return,
    ast.If,
    ast.Compare,
    ast.IsNot,
    ast.Pass,
    ast.UnaryOp,
    ast.USub,
)
"""Every kind of node a stub may have; lambdas, attributes, comprehensions and f-strings are not among them."""

text = st.sampled_from(HOSTILE) | st.text(max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
keywords = st.sampled_from(
    [
        "type",
        "description",
        "default",
        "enum",
        "const",
        "format",
        "items",
        "anyOf",
        "allOf",
        "properties",
        "$ref",
        "title",
    ]
)
leaves = st.fixed_dictionaries(
    {}, optional={"description": text, "default": json_values, "enum": st.lists(json_values, max_size=3)}
)
schemas = st.recursive(
    leaves | st.dictionaries(keywords, json_values, max_size=3) | st.booleans(),
    lambda inner: (
        st.fixed_dictionaries({"properties": st.dictionaries(text, inner, max_size=4), "required": st.lists(text, max_size=2)})
        | st.fixed_dictionaries({"anyOf": st.lists(inner, max_size=3)})
        | st.fixed_dictionaries({"type": st.just("array"), "items": inner})
    ),
    max_leaves=8,
)
tools = st.builds(
    Tool,
    server=text,
    name=text,
    title=st.none() | text,
    description=text,
    input_schema=st.fixed_dictionaries(
        {"properties": st.dictionaries(text, schemas, max_size=5), "required": st.lists(text, max_size=3)},
        optional={"additionalProperties": st.booleans(), "anyOf": st.lists(schemas, max_size=2)},
    ),
    output_schema=st.none() | schemas.filter(lambda schema: isinstance(schema, dict)),
)


def run(source: str) -> dict[str, Any]:
    client = ModuleType("mcp_client")
    client.__dict__["call_mcp_tool"] = lambda tool, arguments: (tool, arguments)  # pyright: ignore[reportUnknownLambdaType]
    namespace: dict[str, Any] = {"__name__": "stub"}
    sys.modules["mcp_client"] = client
    try:
        exec(compile(source, "stub", "exec"), namespace)
    finally:
        del sys.modules["mcp_client"]
    return namespace


@given(tools)
@pytest.mark.requirement("T34")
def test_no_definition_becomes_code_and_all_arguments_arrive_under_their_names(tool: Tool) -> None:
    function = make_python_name(tool.name, "tool")
    source = render_module(tool, function)
    tree = ast.parse(source)
    assert [type(node) for node in ast.walk(tree) if not isinstance(node, ALLOWED)] == []
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert called <= {"TypedDict", "call_mcp_tool"}
    stub = run(source)[function]
    known = read_parameters(tool).known
    given_values = {each.python: object() for each in known}
    assert stub(**given_values) == (tool.key, {each.name: given_values[each.python] for each in known})
    assert not hasattr(__builtins__, "gristmill_pwned")
    assert "gristmill_pwned" not in sys.modules["builtins"].__dict__


@given(tools)
def test_typescript_keeps_hostile_text_in_comments_and_literals(tool: Tool) -> None:
    declared = render_typescript_stub(build_stub(tool, make_python_name(tool.name, "tool")))
    code = re.sub(r'/\*.*?\*/|"(\\.|[^"\\\n])*"', "", declared, flags=re.DOTALL)
    assert re.fullmatch(r"[\w\s{}()\[\]<>?:;,|$-]*", code, flags=re.ASCII)
    assert code.count("(") == 1


def test_a_description_cannot_end_a_typescript_comment() -> None:
    schema: dict[str, Json] = {"properties": {"a": {"description": "*/ evil(); /*"}, "*/ evil()": {}}}
    tool = Tool(server="s", name="t", description="*/ evil(); /*\n*/", input_schema=schema)
    code = re.sub(r"/\*.*?\*/", "", render_typescript_stub(build_stub(tool, "t")), flags=re.DOTALL)
    assert " ".join(code.split()) == ('export function t(args?: { a?: unknown; "*/ evil()"?: unknown; }): Promise<unknown>;')


def test_optional_parameters_that_are_not_given_are_left_out_and_null_can_be_sent() -> None:
    schema: dict[str, Json] = {
        "properties": {"b": {"type": "string"}, "a": {"type": "integer"}, "c": {}},
        "required": ["a", "b"],
    }
    stub = run(render_module(Tool(server="crm", name="get", input_schema=schema), "get"))["get"]
    assert stub("first", 2) == ("crm.get", {"b": "first", "a": 2})
    assert stub("first", a=2, c=None) == ("crm.get", {"b": "first", "a": 2, "c": None})
    assert stub("first", 2, None) == ("crm.get", {"b": "first", "a": 2, "c": None})
    with pytest.raises(TypeError):
        stub("first", 2, 3, 4)
    with pytest.raises(TypeError):
        stub("first", 2, d=3)


def test_other_names_are_passed_on_only_where_the_schema_welcomes_them() -> None:
    schema: dict[str, Json] = {
        "properties": {"a-b": {}},
        "required": ["a-b"],
        "additionalProperties": {"type": "string"},
    }
    stub = run(render_module(Tool(server="s", name="t", input_schema=schema), "t"))["t"]
    assert stub(1, **{"x-y": 2}) == ("s.t", {"a-b": 1, "x-y": 2})


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "object"}, True),
        ({}, True),
        ({"$ref": "#/$defs/any", "$defs": {"any": {"type": "object"}}}, True),
        ({"type": "object", "properties": {}}, False),
        ({"type": "object", "additionalProperties": False}, False),
        ({"type": "object", "properties": {"a": {}}}, False),
        ({"type": "object", "required": ["a"]}, False),
    ],
)
def test_a_schema_that_names_no_property_takes_any_and_an_empty_list_of_them_none(schema: Json, expected: bool) -> None:
    tool = Tool(server="s", name="t", description="", input_schema=schema)
    assert read_parameters(tool).open is expected
    assert ("**" in render_module(tool, "t")) is expected


def test_parameters_of_branches_and_references_can_be_given() -> None:
    schema: dict[str, Json] = {
        "$ref": "#/$defs/input",
        "$defs": {
            "input": {
                "allOf": [{"properties": {"a": {}}, "required": ["a"]}],
                "oneOf": [
                    {"properties": {"b": {}, "c": {}}, "required": ["b", "c"]},
                    {"required": ["c"], "properties": {"d": {}}},
                ],
            }
        },
    }
    known = read_parameters(Tool(server="s", name="t", input_schema=schema)).known
    assert [(each.name, each.required) for each in known] == [("a", True), ("c", True), ("b", False), ("d", False)]


def test_a_schema_that_branches_into_itself_is_read_in_bounded_time() -> None:
    schema: dict[str, Json] = {"anyOf": [{"$ref": "#"}] * 20, "properties": {"a": {}}}
    assert [each.name for each in read_parameters(Tool(server="s", name="t", input_schema=schema)).known] == ["a"]


def test_a_definition_too_big_to_type_still_yields_a_function() -> None:
    fields = {f"p{number}": {"description": "x" * 390} for number in range(600)}
    source = render_module(Tool(server="s", name="t", input_schema={"properties": fields}), "t")
    assert len(source) < 2_000
    assert run(source)["t"](p1=1, p599=2) == ("s.t", {"p1": 1, "p599": 2})


def test_the_docstring_shows_the_text_without_hidden_characters_and_the_original_names() -> None:
    schema: dict[str, Json] = {"properties": {"from": {"type": "string", "description": "Start\u200b day"}, "x": {}}}
    tool = Tool(server="s", name="get-it", description="Gets\u202e it.\n\nReally.", input_schema=schema)
    assert run(render_module(tool, "get_it"))["get_it"].__doc__ == (
        "Gets it.\n\nReally.\n\nOriginal name: get-it\n\nArgs:\n    from_: [from] Start day"
    )


def test_a_learned_type_is_shown_as_learned_and_a_declared_one_outranks_it() -> None:
    learned = LearnedResultType(schema={"type": "array", "items": {"type": "integer"}}, calls=7)
    unknown = Tool(server="s", name="t")
    declared = Tool(server="s", name="t", output_schema={"type": "string"})
    assert '-> list[int]:\n    """No description.\n\nReturns:\n    learned from 7 calls' in render_module(unknown, "t", learned)
    assert "-> str:" in render_module(declared, "t", learned)
    assert "learned" not in render_module(declared, "t", learned)


def test_the_last_gates_refuse_what_is_no_name_and_what_prints_as_something_else() -> None:
    with pytest.raises(ValueError, match="not a Python name"):
        build_name("x; import os")
    with pytest.raises(ValueError, match="differs"):
        render_checked_source([ast.Expr(ast.Name("import os"))])


def test_both_ways_of_importing_work_and_load_only_what_is_used(import_stubs: Callable[[Catalog], ModuleType]) -> None:
    tools = [Tool(server=server, name=name) for server in ("git-hub", "time") for name in ("list", "get-user", "sys")]
    servers = import_stubs(Catalog.from_tools(tools))
    program = (
        "from servers.git_hub import get_user\n"
        "from servers import time, git_hub\n"
        "import servers.git_hub.sys\n"
        "got = [get_user(), time.list_(), git_hub.list(), servers.git_hub.sys()]\n"
        "got.append(getattr(servers, 'git-hub').get_user())\n"
    )
    namespace: dict[str, Any] = {}
    exec(program, namespace)
    assert [key for key, _ in namespace["got"]] == [
        "git-hub.get-user", "time.list", "git-hub.list", "git-hub.sys", "git-hub.get-user",
    ]  # fmt: skip
    assert "servers.time.get_user" not in sys.modules
    assert (dir(servers), dir(servers.time)) == (["git_hub", "time"], ["get_user", "list_", "sys"])


def test_unknown_names_answer_with_near_ones(import_stubs: Callable[[Catalog], ModuleType]) -> None:
    servers = import_stubs(Catalog.from_tools([Tool(server="github", name="search_issues")]))
    with pytest.raises(AttributeError, match="did you mean search_issues"):
        _ = servers.github.serch_issues
    with pytest.raises(AttributeError, match="did you mean github"):
        _ = servers.githb
