"""Prepares a program in TypeScript for the guest: its text becomes the body of one async function, line for line.

Imports of tools become constants, the last expression becomes the result, and in a session the names that the program declares
become properties of the global object, where the next program finds them.
"""

import json
import re
from collections.abc import Collection

from msgspec import Struct
from tree_sitter import Node

from gristmill.guard.program.typescript.parse_typescript import parse_typescript, read_text, walk_nodes
from gristmill.guard.program.typescript.tool_imports import CLIENT_FUNCTIONS, ImportStatement, read_import

_NAMED_TOOL = re.compile(r"mcp__([A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*)__([A-Za-z0-9_-]+)")
_DECLARATIONS = ("lexical_declaration", "variable_declaration")
_FUNCTIONS = ("function_declaration", "generator_function_declaration")
_CLASSES = ("class_declaration", "abstract_class_declaration", "enum_declaration")


class _Edit(Struct, frozen=True):
    start: int
    end: int
    text: str


def prepare_typescript(code: str, *, servers: Collection[str] = (), keeps_names: bool = False) -> str:
    """Returns the module that the guest imports. ``servers`` are the names that stand for a server without an import.

    With ``keeps_names`` the program belongs to a session.
    """
    source = code.encode("utf-8", "surrogatepass")
    root = parse_typescript(source)
    writer = _Writer(keeps_names)
    last = _find_last_statement(root)
    for node in root.named_children:
        writer.add_statement(node, is_last=node == last)
    opening = [*writer.opening, *_name_free_servers(root, servers)]
    body = _apply_edits(source, writer.edits).decode("utf-8", "replace")
    return f"export default async function ($: any) {{ {' '.join(opening)} {body}\n}}"


class _Writer:
    """Collects what has to change in a program."""

    def __init__(self, keeps_names: bool) -> None:
        self.edits: list[_Edit] = []
        self.opening: list[str] = []
        self._keeps_names = keeps_names

    def add_statement(self, node: Node, *, is_last: bool) -> None:
        """Adds the changes of one statement at the top level."""
        if node.type == "import_statement":
            self._replace_import(node)
        elif node.type == "export_statement":
            self._open_export(node, is_last=is_last)
        elif node.type == "expression_statement" and is_last:
            self._return_expression(node)
        elif self._keeps_names:
            self._keep_declared(node)

    def _replace_import(self, node: Node) -> None:
        read = read_import(node)
        text = _write_import(read, keeps_names=self._keeps_names) if read is not None and not read.is_type else ""
        if self._keeps_names and read is not None and not read.is_type:
            self._declare(*(each.local for each in read.bindings))
        lines = read_text(node).count("\n")
        self.edits.append(_Edit(node.start_byte, node.end_byte, text + "\n" * lines))

    def _open_export(self, node: Node, *, is_last: bool) -> None:
        declared = node.child_by_field_name("declaration")
        if declared is not None:
            self.edits.append(_Edit(node.start_byte, declared.start_byte, ""))
            if self._keeps_names:
                self._keep_declared(declared)
            return
        value = node.child_by_field_name("value")
        if value is None:  # `export { a }`, `export * from ...`: nothing imports a program
            self.edits.append(_Edit(node.start_byte, node.end_byte, "\n" * read_text(node).count("\n")))
            return
        self.edits.append(_Edit(node.start_byte, value.start_byte, "return (" if is_last else "void ("))
        self.edits.append(_Edit(value.end_byte, value.end_byte, ")"))

    def _return_expression(self, node: Node) -> None:
        expression = node.named_children[0] if node.named_children else None
        if expression is not None:
            self.edits.append(_Edit(expression.start_byte, expression.start_byte, "return ("))
            self.edits.append(_Edit(expression.end_byte, expression.end_byte, ")"))

    # -- names that outlive the program ---------------------------------------------------------------------------------

    def _keep_declared(self, node: Node) -> None:
        if node.type in _DECLARATIONS:
            self._assign_declared(node)
        elif node.type in (*_FUNCTIONS, *_CLASSES) and (name := node.child_by_field_name("name")) is not None:
            kept = f"globalThis.{read_text(name)} = {read_text(name)};"
            if node.type in _FUNCTIONS:
                self.opening.append(kept)  # functions exist from the first line on
            else:
                self.edits.append(_Edit(node.end_byte, node.end_byte, f" {kept}"))

    def _assign_declared(self, node: Node) -> None:
        """Turns a declaration into assignments: ``const a: T = 1, {b} = c`` becomes ``;(a = 1), ({b} = c)``."""
        declarators = [child for child in node.named_children if child.type == "variable_declarator"]
        if not declarators:
            return
        self.edits.append(_Edit(node.start_byte, declarators[0].start_byte, ";"))
        for each in declarators:
            name, value = each.child_by_field_name("name"), each.child_by_field_name("value")
            if name is None:
                return
            self._declare(*_list_bound_names(name))
            self.edits.append(_Edit(each.start_byte, each.start_byte, "("))
            if value is None:
                self.edits.append(_Edit(name.end_byte, each.end_byte, " = undefined)"))
            else:  # a type behind the name has no place in an assignment
                lines = "\n" * (value.start_point.row - name.end_point.row)
                self.edits.append(_Edit(name.end_byte, value.start_byte, f" = {lines}"))
                self.edits.append(_Edit(each.end_byte, each.end_byte, ")"))

    def _declare(self, *names: str) -> None:
        self.opening += [f'if (!("{name}" in globalThis)) globalThis.{name} = undefined;' for name in names]


def _write_import(read: ImportStatement, *, keeps_names: bool) -> str:
    module = read.module
    if module.kind == "server":
        origin = f"$.server({json.dumps(module.server)})"
    elif module.kind == "tool":
        origin = f"$.tool({json.dumps(module.server)}, {json.dumps(module.tool)})"
    elif module.kind == "client":
        origin = "$.client"
    elif module.kind == "builtin":
        origin = f"(await import({json.dumps(module.name)}))"
    else:
        origin = f"$.missing({json.dumps(module.name)})"
    if not read.bindings:
        return f"{origin};" if module.kind == "unknown" else ";"
    parts: list[str] = []
    for each in read.bindings:
        is_whole = each.name == "*" or (each.name == "default" and module.kind in ("server", "client"))
        source = "$.client" if each.name in CLIENT_FUNCTIONS else origin  # whichever module it is imported from
        value = source if is_whole else f"{source}[{json.dumps(each.name)}]"
        parts.append(f"{each.local} = {value}")
    return f";({'), ('.join(parts)});" if keeps_names else f"const {', '.join(parts)};"


def _find_last_statement(root: Node) -> Node | None:
    statements = [node for node in root.named_children if node.type not in ("comment", "empty_statement")]
    return statements[-1] if statements else None


def _list_bound_names(pattern: Node) -> list[str]:
    """Returns the names that a pattern such as ``{a, b: [c = 1], ...rest}`` binds."""
    if pattern.type in ("identifier", "shorthand_property_identifier_pattern"):
        return [read_text(pattern)]
    if pattern.type == "pair_pattern":
        value = pattern.child_by_field_name("value")
        return _list_bound_names(value) if value is not None else []
    if pattern.type in ("assignment_pattern", "object_assignment_pattern"):
        left = pattern.child_by_field_name("left")
        return _list_bound_names(left) if left is not None else []
    return [name for child in pattern.named_children for name in _list_bound_names(child)]


def _name_free_servers(root: Node, servers: Collection[str]) -> list[str]:
    """Returns constants for names that the program uses without declaring them: servers, and tools as `mcp__server__tool`."""
    used: dict[str, None] = {}
    declared: set[str] = set()
    for node in walk_nodes(root):
        if (
            node.type == "member_expression"
            and (base := node.child_by_field_name("object")) is not None
            and base.type == "identifier"
        ):
            if (name := read_text(base)) in servers:
                used[name] = None
        elif node.type == "identifier" and _NAMED_TOOL.fullmatch(read_text(node)):
            used[read_text(node)] = None
        elif node.type == "variable_declarator" and (name := node.child_by_field_name("name")) is not None:
            declared.update(_list_bound_names(name))
        elif node.type == "import_statement" and (read := read_import(node)) is not None:
            declared.update(each.local for each in read.bindings)
        elif (
            node.type in ("required_parameter", "optional_parameter")
            and (name := node.child_by_field_name("pattern")) is not None
        ):
            declared.update(_list_bound_names(name))
        elif node.type in (*_FUNCTIONS, *_CLASSES) and (name := node.child_by_field_name("name")) is not None:
            declared.add(read_text(name))
    found: list[str] = []
    for name in used.keys() - declared:
        tool = _NAMED_TOOL.fullmatch(name)
        value = f'$.named("{tool[1]}.{tool[2]}")' if tool else f'$.server("{name}")'
        found.append(f"const {name} = globalThis.{name} ?? {value};")
    return sorted(found)


def _apply_edits(source: bytes, edits: list[_Edit]) -> bytes:
    out, at = bytearray(), 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        out += source[at : edit.start] + edit.text.encode()
        at = max(at, edit.end)
    return bytes(out + source[at:])
