"""Builds one tool's typed module as an AST and prints it as source, so that a hostile definition cannot become code.

Each function only gathers its arguments under their original names and passes them to ``mcp_client``.
"""

import ast

from msgspec import Struct

from gristmill.catalog.modules.python_annotations import (
    build_annotation,
    build_docstring,
    build_function,
    build_name,
    build_record_classes,
    find_typing_names,
)
from gristmill.catalog.types.schema_types import TypedSchema, describe_schema, read_schema
from gristmill.catalog.types.tool_parameters import ToolParameter, ToolParameters, read_parameters
from gristmill.catalog.types.type_tree import ANY
from gristmill.catalog.visible_text import clean_text, clean_to_one_line
from gristmill.model import Json, Tool

MAX_SOURCE = 200_000
UNTYPABLE = (ValueError, SyntaxError, RecursionError, MemoryError)
"""The errors that are raised for a definition that cannot be given types within bounds."""
_ARGUMENTS = "_arguments"
_EXTRA = "_extra"


class LearnedResultType(Struct, frozen=True, kw_only=True):
    """The type of a tool's results so far: a JSON Schema, and the number of calls it was learned from."""

    schema: Json
    calls: int


class ToolStub(Struct, frozen=True, kw_only=True):
    """The typed view of one tool, from which the Python and TypeScript modules are written."""

    tool: Tool
    function: str
    parameters: ToolParameters
    result: TypedSchema
    learned_calls: int = 0
    """The number of calls that the result type was learned from; 0 if the server declared it or nothing is known."""


def build_stub(
    tool: Tool, function: str, learned: LearnedResultType | None = None, *, taken: frozenset[str] = frozenset()
) -> ToolStub:
    """Builds the typed view of ``tool``, called ``function`` in code; a declared result type outranks a learned one.

    Records get names that are not in ``taken``.
    """
    parameters = read_parameters(tool, taken=taken | {function})
    taken = taken | {function, *(record.name for record in parameters.records)}
    calls = learned.calls if learned and tool.output_schema is None else 0
    schema = tool.output_schema if tool.output_schema is not None else learned.schema if learned else True
    result = read_schema(schema, name=f"{tool.name} result", taken=taken)
    return ToolStub(tool=tool, function=function, parameters=parameters, result=result, learned_calls=calls)


def render_stub(stub: ToolStub) -> str:
    """Returns the module of ``stub`` as Python source that compiles and has no effect when imported."""
    body = [*build_record_classes([*stub.parameters.records, *stub.result.records]), _build_function(stub)]
    imports: list[ast.stmt] = [_build_import("__future__", ["annotations"])]
    if used := find_typing_names(body):
        imports.append(_build_import("typing", used))
    imports.append(_build_import("mcp_client", ["call_mcp_tool"]))
    return render_checked_source([*imports, *body])


def render_checked_source(body: list[ast.stmt]) -> str:
    """Returns ``body`` as source text that parses back to the same kinds of statements.

    Raises:
        ValueError: the printed source differs from ``body``; nothing may be written.
    """
    module = ast.fix_missing_locations(ast.Module(body=body, type_ignores=[]))
    source = ast.unparse(module) + "\n"
    # Printing an AST is only as safe as the printer: a printer that ended a literal too early would change the statements.
    parsed = ast.parse(source)
    if [_list_statement_kinds(node) for node in parsed.body] != [_list_statement_kinds(node) for node in body]:
        raise ValueError("the printed module differs from the one that was built")
    return source


def _list_statement_kinds(node: ast.stmt) -> tuple[str, tuple[str, ...]]:
    inner: list[ast.stmt] = getattr(node, "body", [])
    return type(node).__name__, tuple(type(statement).__name__ for statement in inner)


def _build_function(stub: ToolStub) -> ast.FunctionDef:
    required = [parameter for parameter in stub.parameters.known if parameter.required]
    optional = [parameter for parameter in stub.parameters.known if not parameter.required]
    # `...` is not a JSON value, so it can mean "not given", while None means null.
    arguments = build_stub_arguments(stub, [ast.Constant(...) for _ in optional])
    return build_function(
        stub.function, arguments, _build_body(stub, required, optional), returns=build_annotation(stub.result.type)
    )


def build_stub_arguments(stub: ToolStub, defaults: list[ast.expr]) -> ast.arguments:
    """Returns the parameters of ``stub``; ``defaults`` holds one default for each optional parameter."""
    return ast.arguments(
        posonlyargs=[],
        # All parameters may be passed by position, required ones first: models write search("query", 10).
        args=[_build_argument(parameter) for parameter in stub.parameters.known],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=defaults,
        kwarg=ast.arg(_EXTRA, build_annotation(ANY)) if stub.parameters.open else None,
    )


def _build_body(stub: ToolStub, required: list[ToolParameter], optional: list[ToolParameter]) -> list[ast.stmt]:
    keys: list[ast.expr | None] = [ast.Constant(parameter.name) for parameter in required]
    values: list[ast.expr] = [build_name(parameter.python) for parameter in required]
    if stub.parameters.open:
        keys.insert(0, None)
        values.insert(0, build_name(_EXTRA))
    gather = ast.Assign(targets=[build_name(_ARGUMENTS)], value=ast.Dict(keys=keys, values=values))
    call = ast.Call(func=build_name("call_mcp_tool"), args=[ast.Constant(stub.tool.key), build_name(_ARGUMENTS)], keywords=[])
    return [build_docstring(render_stub_doc(stub)), gather, *map(_build_optional_argument, optional), ast.Return(call)]


def _build_optional_argument(parameter: ToolParameter) -> ast.If:
    given = ast.Compare(left=build_name(parameter.python), ops=[ast.IsNot()], comparators=[ast.Constant(...)])
    place = ast.Subscript(value=build_name(_ARGUMENTS), slice=ast.Constant(parameter.name))
    return ast.If(test=given, body=[ast.Assign(targets=[place], value=build_name(parameter.python))], orelse=[])


def _build_argument(parameter: ToolParameter) -> ast.arg:
    return ast.arg(build_name(parameter.python).id, build_annotation(parameter.type))


def _build_import(module: str, names: list[str]) -> ast.ImportFrom:
    return ast.ImportFrom(module=module, names=[ast.alias(each) for each in names], level=0)


def render_stub_doc(stub: ToolStub, *, with_parameters: bool = True) -> str:
    """Returns the docstring: the server's description, original names that differ, and the source of the result type."""
    tool = stub.tool
    parts = [clean_text(tool.description) or clean_to_one_line(tool.title or "") or "No description."]
    if stub.function != tool.name:
        parts.append(f"Original name: {clean_to_one_line(tool.name)}")
    lines = (
        [_describe_parameter(each) for each in stub.parameters.known if each.doc or _is_renamed(each)] if with_parameters else []
    )
    if lines:
        parts.append("Args:\n" + "\n".join(lines))
    if returned := _describe_result(stub):
        parts.append(f"Returns:\n    {returned}")
    return "\n\n".join(parts)


def _describe_result(stub: ToolStub) -> str:
    if stub.learned_calls:
        return f"learned from {format_call_count(stub.learned_calls)}, not declared by the server"
    return describe_schema(stub.tool.output_schema)


def format_call_count(calls: int) -> str:
    """Returns the number with its noun: ``1 call``, ``2 calls``."""
    return "1 call" if calls == 1 else f"{calls:,} calls"


def _describe_parameter(parameter: ToolParameter) -> str:
    original = f"[{clean_to_one_line(parameter.name)}] " if _is_renamed(parameter) else ""
    return f"    {parameter.python}: {original}{parameter.doc}".rstrip()


def _is_renamed(parameter: ToolParameter) -> bool:
    return parameter.python != parameter.name


def render_module(tool: Tool, function: str, learned: LearnedResultType | None = None) -> str:
    """Returns the source of the tool's module; a tool that cannot be typed still gets a function that can be called."""
    try:
        source = render_stub(build_stub(tool, function, learned))
    except UNTYPABLE:
        source = None
    if source is not None and len(source) <= MAX_SOURCE:
        return source
    return render_stub(build_untyped_stub(tool, function))


def build_untyped_stub(tool: Tool, function: str) -> ToolStub:
    """Returns the view of a tool that takes anything and returns anything."""
    nothing = ToolParameters(known=(), records=(), open=True)
    untyped = Tool(server=tool.server, name=tool.name, description=clean_to_one_line(tool.description))
    return ToolStub(tool=untyped, function=function, parameters=nothing, result=TypedSchema(type=ANY))
