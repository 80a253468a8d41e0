"""One tool → the source of its typed module, built as an AST and printed: a hostile definition cannot become code.

The body of every function only gathers the arguments under their original names and hands them to ``mcp_client``.
"""

import ast

from gristmill.catalog.modules.python_annotations import annotation, docstring, function, name, record_classes, typing_names
from gristmill.catalog.types.schema_types import Typed, describe_schema, read_schema
from gristmill.catalog.types.tool_parameters import Parameter, Parameters, read_parameters
from gristmill.catalog.types.type_tree import ANY
from gristmill.catalog.visible_text import clean, one_line
from gristmill.model import Json, Tool
from gristmill.values import dataclass

MAX_SOURCE = 200_000
UNTYPABLE = (ValueError, SyntaxError, RecursionError, MemoryError)
"""What a definition that cannot be typed in reason leads to."""
_ARGUMENTS = "_arguments"
_EXTRA = "_extra"


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedResult:
    """What a result looked like so far: a JSON Schema and the number of calls it rests on."""

    schema: Json
    calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stub:
    """The typed view of one tool, from which Python and TypeScript are written."""

    tool: Tool
    function: str
    parameters: Parameters
    result: Typed
    learned_calls: int = 0
    """How many calls the result type was learned from; 0 when the server declared it or nothing is known."""


def stub_of(tool: Tool, function: str, learned: LearnedResult | None = None, *, taken: frozenset[str] = frozenset()) -> Stub:
    """The typed view of ``tool``, called ``function`` in code; a declared result type outranks a learned one.

    Records get names that are not in ``taken``.
    """
    parameters = read_parameters(tool, taken=taken | {function})
    taken = taken | {function, *(record.name for record in parameters.records)}
    calls = learned.calls if learned and tool.output_schema is None else 0
    schema = tool.output_schema if tool.output_schema is not None else learned.schema if learned else True
    result = read_schema(schema, name=f"{tool.name} result", taken=taken)
    return Stub(tool=tool, function=function, parameters=parameters, result=result, learned_calls=calls)


def stub_source(stub: Stub) -> str:
    """The module of ``stub`` as Python source that compiles and has no effect when imported."""
    body = [*record_classes([*stub.parameters.records, *stub.result.records]), _function(stub)]
    imports: list[ast.stmt] = [_import("__future__", ["annotations"])]
    if used := typing_names(body):
        imports.append(_import("typing", used))
    imports.append(_import("mcp_client", ["call_mcp_tool"]))
    return checked_source([*imports, *body])


def checked_source(body: list[ast.stmt]) -> str:
    """``body`` as source text that parses back to the same kinds of statements.

    Raises:
        ValueError: printing went wrong; nothing may be written.
    """
    module = ast.fix_missing_locations(ast.Module(body=body, type_ignores=[]))
    source = ast.unparse(module) + "\n"
    # Printing an AST is safe only as far as the printer is: one that broke a literal open would change the statements.
    parsed = ast.parse(source)
    if [_outline(node) for node in parsed.body] != [_outline(node) for node in body]:
        raise ValueError("the printed module differs from the one that was built")
    return source


def _outline(node: ast.stmt) -> tuple[str, tuple[str, ...]]:
    inner: list[ast.stmt] = getattr(node, "body", [])
    return type(node).__name__, tuple(type(statement).__name__ for statement in inner)


def _function(stub: Stub) -> ast.FunctionDef:
    required = [parameter for parameter in stub.parameters.known if parameter.required]
    optional = [parameter for parameter in stub.parameters.known if not parameter.required]
    # `...` is no JSON value, so it can say "not given" where None means null.
    arguments = stub_arguments(stub, [ast.Constant(...) for _ in optional])
    return function(stub.function, arguments, _body(stub, required, optional), returns=annotation(stub.result.type))


def stub_arguments(stub: Stub, defaults: list[ast.expr]) -> ast.arguments:
    """The parameters of ``stub``, with one default for each that is optional."""
    return ast.arguments(
        posonlyargs=[],
        # All may be passed by position, required ones first: models write search("query", 10).
        args=[_argument(parameter) for parameter in stub.parameters.known],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=defaults,
        kwarg=ast.arg(_EXTRA, annotation(ANY)) if stub.parameters.open else None,
    )


def _body(stub: Stub, required: list[Parameter], optional: list[Parameter]) -> list[ast.stmt]:
    keys: list[ast.expr | None] = [ast.Constant(parameter.name) for parameter in required]
    values: list[ast.expr] = [name(parameter.python) for parameter in required]
    if stub.parameters.open:
        keys.insert(0, None)
        values.insert(0, name(_EXTRA))
    gather = ast.Assign(targets=[name(_ARGUMENTS)], value=ast.Dict(keys=keys, values=values))
    call = ast.Call(func=name("call_mcp_tool"), args=[ast.Constant(stub.tool.key), name(_ARGUMENTS)], keywords=[])
    return [docstring(stub_doc(stub)), gather, *map(_when_given, optional), ast.Return(call)]


def _when_given(parameter: Parameter) -> ast.If:
    given = ast.Compare(left=name(parameter.python), ops=[ast.IsNot()], comparators=[ast.Constant(...)])
    place = ast.Subscript(value=name(_ARGUMENTS), slice=ast.Constant(parameter.name))
    return ast.If(test=given, body=[ast.Assign(targets=[place], value=name(parameter.python))], orelse=[])


def _argument(parameter: Parameter) -> ast.arg:
    return ast.arg(name(parameter.python).id, annotation(parameter.type))


def _import(module: str, names: list[str]) -> ast.ImportFrom:
    return ast.ImportFrom(module=module, names=[ast.alias(each) for each in names], level=0)


def stub_doc(stub: Stub, *, with_parameters: bool = True) -> str:
    """The docstring: what the server says, the original names where they differ, and what the result type rests on."""
    tool = stub.tool
    parts = [clean(tool.description) or one_line(tool.title or "") or "No description."]
    if stub.function != tool.name:
        parts.append(f"Original name: {one_line(tool.name)}")
    lines = [_line(each) for each in stub.parameters.known if each.doc or _renamed(each)] if with_parameters else []
    if lines:
        parts.append("Args:\n" + "\n".join(lines))
    if returned := _returned(stub):
        parts.append(f"Returns:\n    {returned}")
    return "\n\n".join(parts)


def _returned(stub: Stub) -> str:
    if stub.learned_calls:
        return f"learned from {calls_text(stub.learned_calls)}, not declared by the server"
    return describe_schema(stub.tool.output_schema)


def calls_text(calls: int) -> str:
    """``1 call``, ``2 calls``."""
    return "1 call" if calls == 1 else f"{calls:,} calls"


def _line(parameter: Parameter) -> str:
    original = f"[{one_line(parameter.name)}] " if _renamed(parameter) else ""
    return f"    {parameter.python}: {original}{parameter.doc}".rstrip()


def _renamed(parameter: Parameter) -> bool:
    return parameter.python != parameter.name


def module_source(tool: Tool, function: str, learned: LearnedResult | None = None) -> str:
    """The source of the tool's module; one that cannot be typed in reason still yields a function to call."""
    try:
        source = stub_source(stub_of(tool, function, learned))
    except UNTYPABLE:
        source = None
    if source is not None and len(source) <= MAX_SOURCE:
        return source
    return stub_source(untyped_stub(tool, function))


def untyped_stub(tool: Tool, function: str) -> Stub:
    """The view of a tool that takes anything and returns anything."""
    nothing = Parameters(known=(), records=(), open=True)
    untyped = Tool(server=tool.server, name=tool.name, description=one_line(tool.description))
    return Stub(tool=untyped, function=function, parameters=nothing, result=Typed(type=ANY))
