"""Renders a tool for reading: its signature on one line, the types it names, or its whole declaration without the code.

Uses the same typed view as the modules that code imports, so the text that is read matches the function that is called.
"""

import ast
from collections.abc import Callable
from typing import TypeVar

from gristmill.catalog.catalog import Catalog
from gristmill.catalog.modules.python_annotations import build_annotation, build_docstring, build_function, build_record_classes
from gristmill.catalog.modules.tool_module import (
    UNTYPABLE,
    LearnedResultType,
    ToolStub,
    build_stub,
    build_stub_arguments,
    build_untyped_stub,
    format_call_count,
    render_checked_source,
    render_stub_doc,
)
from gristmill.catalog.modules.typescript_module import render_typescript_stub
from gristmill.catalog.search.render_hits import SKILLS
from gristmill.catalog.types.loose_schema import read_parameter_schemas
from gristmill.catalog.types.type_tree import RecordField, RecordType
from gristmill.model import Tool

_MAX_DEFAULT = 40
_SHORT = str | bool | int | float
_T = TypeVar("_T")


def render_signature_line(catalog: Catalog, tool: Tool, learned: LearnedResultType | None = None) -> str:
    """Returns ``search_issues(query: str, state: Literal['open', 'closed'] = 'open') -> list[Issue]``."""
    return _render_stub(catalog, tool, _render_signature, learned)


def render_type_lines(catalog: Catalog, tool: Tool, learned: LearnedResultType | None = None) -> list[str]:
    """Returns ``Issue = {number: int, title: str, closed_by?: str}`` for every type that the signature names."""
    return _render_stub(catalog, tool, _render_types, learned)


def render_python_text(catalog: Catalog, tool: Tool, learned: LearnedResultType | None = None) -> str:
    """Returns the import, the types, and the function with its whole documentation."""
    module, name = catalog.modules[tool.server], catalog.functions[tool.key]
    home = SKILLS if tool.server == SKILLS else f"servers.{module}"
    return f"from {home} import {name}\n\n{_render_stub(catalog, tool, _render_source, learned)}"


def render_typescript_text(catalog: Catalog, tool: Tool, learned: LearnedResultType | None = None) -> str:
    """Returns the types and the function as TypeScript declarations."""
    return _render_stub(catalog, tool, render_typescript_stub, learned)


def _render_stub(catalog: Catalog, tool: Tool, write: Callable[[ToolStub], _T], learned: LearnedResultType | None) -> _T:
    name = catalog.functions[tool.key]
    try:
        return write(build_stub(tool, name, learned))
    except UNTYPABLE:
        return write(build_untyped_stub(tool, name))


def _render_signature(stub: ToolStub) -> str:
    arguments = ast.unparse(build_stub_arguments(stub, _list_defaults(stub)))
    learned = f"  # result learned from {format_call_count(stub.learned_calls)}" if stub.learned_calls else ""
    return f"{stub.function}({arguments}) -> {ast.unparse(build_annotation(stub.result.type))}{learned}"


def _render_types(stub: ToolStub) -> list[str]:
    return [_render_record(each) for each in (*stub.parameters.records, *stub.result.records)]


def _render_source(stub: ToolStub) -> str:
    body: list[ast.stmt] = [build_docstring(render_stub_doc(stub)), ast.Expr(ast.Constant(...))]
    arguments = build_stub_arguments(stub, _list_defaults(stub))
    shown = build_function(stub.function, arguments, body, returns=build_annotation(stub.result.type))
    return render_checked_source([*build_record_classes([*stub.parameters.records, *stub.result.records]), shown])


def _list_defaults(stub: ToolStub) -> list[ast.expr]:
    """Returns the default that the server declares for each optional parameter, or ``...`` if there is none or it is long."""
    schemas = read_parameter_schemas(stub.tool)
    declared = [schemas.get(each.name, {}).get("default", ...) for each in stub.parameters.known if not each.required]
    return [ast.Constant(value if isinstance(value, _SHORT) and len(str(value)) <= _MAX_DEFAULT else ...) for value in declared]


def _render_record(record: RecordType) -> str:
    return f"{record.name} = {{{', '.join(map(_render_field, record.fields))}}}"


def _render_field(field: RecordField) -> str:
    return f"{field.name}{'' if field.required else '?'}: {ast.unparse(build_annotation(field.type))}"
