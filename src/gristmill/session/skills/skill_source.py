"""Reads a skill's source: its documentation, its schema and the tools it names. It is parsed, never run outside the sandbox."""

import ast
import keyword
import re
import unicodedata
from collections.abc import Iterator

from msgspec import Struct

from gristmill.errors import Refused
from gristmill.model import Json

RESERVED_NAMES = frozenset(
    (
        "ast builtins delete inspect linecache list load load_module portable_source save source symtable sys textwrap types "
        "versions"
    ).split()
)
"""Names that the module `skills` defines itself: a skill with such a name could not be imported from it."""
NAME_PATTERN = re.compile(r"[a-z_][a-z0-9_]{0,63}")
DESCRIPTION_CHARACTERS = 4_000
_BASIC_SCHEMAS: dict[str, Json] = {
    "str": {"type": "string"}, "int": {"type": "integer"}, "float": {"type": "number"}, "bool": {"type": "boolean"},
    "list": {"type": "array"}, "tuple": {"type": "array"}, "set": {"type": "array"}, "dict": {"type": "object"},
    "None": {"type": "null"}, "Sequence": {"type": "array"}, "Iterable": {"type": "array"}, "Mapping": {"type": "object"},
}  # fmt: skip
_LIST_TYPES = frozenset("list set frozenset Sequence Iterable List Set".split())
_AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef


class ReadSkill(Struct, frozen=True, kw_only=True):
    """The result of reading a source: its documentation, its schemas, and the tools that it names."""

    description: str
    signature: str
    schema: dict[str, Json]
    result: dict[str, Json] | None
    tools: tuple[str, ...]


def read_source(name: str, source: str, limit: int) -> ReadSkill:
    """Parses the source of the skill ``name``.

    Raises:
        Refused: the name is not allowed, or the source does not define a documented function with that name.
    """
    check_name(name)
    check_text(source, limit, "the source of a skill")
    function = _find_function(name, _parse_source(source))
    description = ast.get_docstring(function) or ""
    if not description.strip():
        raise Refused(f"{name} has no docstring: describe what it does, so that search finds it", rule="skill.docstring")
    returns = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    return ReadSkill(
        description=description.strip()[:DESCRIPTION_CHARACTERS],
        signature=f"{name}({ast.unparse(function.args)}){returns}",
        schema=_build_input_schema(function.args),
        result=_convert_annotation(function.returns) or None,
        tools=tuple(sorted(set(_find_tools(_parse_source(source))))),
    )


def check_name(name: str) -> None:
    """Checks that a skill can be imported by ``name``.

    Raises:
        Refused: it cannot.
    """
    if not NAME_PATTERN.fullmatch(name) or keyword.iskeyword(name) or name in RESERVED_NAMES or name.startswith("__"):
        text = f"{name[:80]!a} cannot name a skill: lower-case letters, digits and _, at most 64"
        raise Refused(f"{text}, and none of {', '.join(sorted(RESERVED_NAMES))}", rule="skill.name")


def check_text(text: str, limit: int, what: str) -> None:
    """Checks that a text has no invisible characters: people read it before they trust it, so it must be what it seems to be.

    Raises:
        Refused: it is too large, or holds a control character or a character that changes how text is shown.
    """
    if len(text.encode("utf-8", "surrogatepass")) > limit:
        raise Refused(f"{what} has at most {limit:,} bytes", rule="skill.size")
    for position, character in enumerate(text):
        if character not in "\n\t" and unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            raise Refused(f"{what} holds the character U+{ord(character):04X} at {position:,}", rule="skill.text")


def _parse_source(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Refused(f"the source of the skill is not Python: {type(error).__name__}", rule="skill.syntax") from None


def _find_function(name: str, tree: ast.Module) -> _AnyFunction:
    found = [node for node in tree.body if isinstance(node, _AnyFunction) and node.name == name]
    if len(found) != 1:
        raise Refused(f"the source defines {len(found)} functions called {name} at its top level, not one", rule="skill.function")
    return found[0]


def _build_input_schema(arguments: ast.arguments) -> dict[str, Json]:
    """Builds the input schema of a signature, as far as its annotations allow."""
    properties: dict[str, Json] = {}
    required: list[str] = []
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [*[None] * (len(positional) - len(arguments.defaults)), *arguments.defaults]
    for argument, default in [
        *zip(positional, defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]:
        schema = dict(_convert_annotation(argument.annotation))
        if default is None:
            required.append(argument.arg)
        elif isinstance(default, ast.Constant) and isinstance(default.value, str | int | float | bool):
            schema["default"] = default.value
        properties[argument.arg] = schema
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": arguments.kwarg is not None,
    }


def _convert_annotation(node: ast.expr | None) -> dict[str, Json]:
    match node:
        case ast.Constant(value=None):
            return _BASIC_SCHEMAS["None"]
        case ast.Constant(value=str(text)):
            return _BASIC_SCHEMAS.get(text, {})
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return _BASIC_SCHEMAS.get(name, {})
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return {"anyOf": [_convert_annotation(left), _convert_annotation(right)]}
        case ast.Subscript():
            return _convert_subscript(node)
        case _:
            return {}


def _convert_subscript(node: ast.Subscript) -> dict[str, Json]:
    name = node.value.id if isinstance(node.value, ast.Name) else node.value.attr if isinstance(node.value, ast.Attribute) else ""
    inner = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    if name == "Literal":
        return {"enum": [each.value for each in inner if isinstance(each, ast.Constant)]}
    if name == "Optional":
        return {"anyOf": [_convert_annotation(inner[0]), _BASIC_SCHEMAS["None"]]}
    if name == "Union":
        return {"anyOf": [_convert_annotation(each) for each in inner]}
    if name in _LIST_TYPES:
        return {"type": "array", "items": _convert_annotation(inner[0])}
    if name in ("dict", "Dict", "Mapping"):
        return {"type": "object", "additionalProperties": _convert_annotation(inner[-1])}
    return _BASIC_SCHEMAS.get(name.lower(), {})


def _find_tools(tree: ast.Module) -> Iterator[str]:
    """Yields the tools that the source visibly names: imports, attributes of servers, calls by key."""
    servers: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "servers":
            servers.update({each.asname or each.name: each.name for each in node.names})
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("servers."):
            yield from (f"{str(node.module).removeprefix('servers.')}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Import):
            named = [(each.asname, each.name) for each in node.names if each.asname and each.name.startswith("servers.")]
            servers.update({alias: name.removeprefix("servers.") for alias, name in named})
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=tool) if name in servers:
                yield f"{servers[name]}.{tool}"
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="servers"), attr=server), attr=tool):
                yield f"{server}.{tool}"
            case ast.Call(func=ast.Name(id="call_mcp_tool"), args=[ast.Constant(value=str(key)), *_]):
                yield key
            case _:
                pass
