"""Renders a tool for reading: its signature on one line, the types it names, or its whole declaration without the code.

Uses the same typed view as the modules that code imports, so the text that is read matches the function that is called.
"""

import ast
from collections.abc import Callable, Mapping
from typing import TypeVar

from gristmill.catalog.answers.render_hits import SKILLS
from gristmill.catalog.catalog import Catalog
from gristmill.catalog.modules.python_annotations import build_annotation, build_docstring, build_function, build_record_classes
from gristmill.catalog.modules.tool_module import (
    UNTYPABLE,
    LearnedResultType,
    ToolStub,
    build_stub,
    build_stub_arguments,
    build_untyped_stub,
    render_checked_source,
    render_stub_doc,
)
from gristmill.catalog.modules.typescript_module import render_typescript_stub
from gristmill.catalog.types.loose_schema import read_parameter_schemas
from gristmill.model import Tool

_MAX_DEFAULT = 40
_SHORT = str | bool | int | float
_T = TypeVar("_T")


def build_outline(catalog: Catalog, tool: Tool, learned: LearnedResultType | None = None) -> ToolStub:
    """Returns the typed view of a tool under the name that code imports it by; without types if it cannot have any."""
    name = catalog.functions[tool.key]
    try:
        return build_stub(tool, name, learned)
    except UNTYPABLE:
        return build_untyped_stub(tool, name)


def render_short_signature(stub: ToolStub, parameters: Mapping[str, str], result: str) -> str:
    """Returns the signature with types that are written already; defaults are those of the server, ``...`` where it names none.

    A result that may be anything is not written.
    """
    defaults = iter(_list_defaults(stub))
    places = [
        f"{each.python}: {parameters[each.python]}" + ("" if each.required else f" = {_shorten_default(next(defaults))}")
        for each in stub.parameters.known
    ]
    if stub.parameters.open and not places:
        places.append("**arguments")
    return f"{stub.function}({', '.join(places)})" + ("" if result == "Any" else f" -> {result}")


def _shorten_default(default: ast.expr) -> str:
    return ascii(default.value) if isinstance(default, ast.Constant) and default.value is not ... else "..."


def render_python_text(catalog: Catalog, tool: Tool, learned: LearnedResultType | None = None) -> str:
    """Returns the import, the types, and the function with its whole documentation."""
    module, name = catalog.modules[tool.server], catalog.functions[tool.key]
    home = SKILLS if tool.server == SKILLS else f"servers.{module}"
    return f"from {home} import {name}\n\n{_render_stub(catalog, tool, _render_source, learned)}"


def render_typescript_text(catalog: Catalog, tool: Tool, learned: LearnedResultType | None = None) -> str:
    """Returns the types and the function as TypeScript declarations."""
    return _render_stub(catalog, tool, render_typescript_stub, learned)


def _render_stub(catalog: Catalog, tool: Tool, write: Callable[[ToolStub], _T], learned: LearnedResultType | None) -> _T:
    try:
        return write(build_outline(catalog, tool, learned))
    except UNTYPABLE:
        return write(build_untyped_stub(tool, catalog.functions[tool.key]))


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
