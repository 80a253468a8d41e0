"""What can be known of a skill by reading its source. It is parsed, never run: it runs in the sandbox only."""

import ast
import keyword
import re
import unicodedata
from collections.abc import Iterator

from gristmill.errors import Refused
from gristmill.model import Json
from gristmill.values import dataclass

RESERVED = frozenset(
    "ast builtins delete inspect linecache list load load_module portable_source save source sys textwrap types versions".split()
)
"""Names that the module `skills` has itself: a skill of that name could not be imported from it."""
NAME = re.compile(r"[a-z_][a-z0-9_]{0,63}")
DESCRIPTION_CHARACTERS = 4_000
_BASIC: dict[str, Json] = {
    "str": {"type": "string"}, "int": {"type": "integer"}, "float": {"type": "number"}, "bool": {"type": "boolean"},
    "list": {"type": "array"}, "tuple": {"type": "array"}, "set": {"type": "array"}, "dict": {"type": "object"},
    "None": {"type": "null"}, "Sequence": {"type": "array"}, "Iterable": {"type": "array"}, "Mapping": {"type": "object"},
}  # fmt: skip
_ITEMS = frozenset("list set frozenset Sequence Iterable List Set".split())
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSkill:
    """A source, read: what it says about itself and which tools it names."""

    description: str
    signature: str
    schema: dict[str, Json]
    result: dict[str, Json] | None
    tools: tuple[str, ...]


def read_source(name: str, source: str, limit: int) -> ReadSkill:
    """Parse the source of the skill ``name``.

    Raises:
        Refused: the name cannot be one, or the source is not that of a documented function.
    """
    check_name(name)
    check_text(source, limit, "the source of a skill")
    function = _function(name, _parsed(source))
    description = ast.get_docstring(function) or ""
    if not description.strip():
        raise Refused(f"{name} has no docstring: say what it does, so that it can be found", rule="skill.docstring")
    returns = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    return ReadSkill(
        description=description.strip()[:DESCRIPTION_CHARACTERS],
        signature=f"{name}({ast.unparse(function.args)}){returns}",
        schema=_schema(function.args),
        result=_type(function.returns) or None,
        tools=tuple(sorted(set(_tools(_parsed(source))))),
    )


def check_name(name: str) -> None:
    """A skill is imported by its name.

    Raises:
        Refused: it cannot be.
    """
    if not NAME.fullmatch(name) or keyword.iskeyword(name) or name in RESERVED or name.startswith("__"):
        text = f"{name[:80]!a} cannot name a skill: lower-case letters, digits and _, at most 64"
        raise Refused(f"{text}, and none of {', '.join(sorted(RESERVED))}", rule="skill.name")


def check_text(text: str, limit: int, what: str) -> None:
    """Text that people read before they trust it must be what it seems.

    Raises:
        Refused: it is too long or holds characters that cannot be seen.
    """
    if len(text.encode("utf-8", "surrogatepass")) > limit:
        raise Refused(f"{what} has at most {limit:,} bytes", rule="skill.size")
    for position, character in enumerate(text):
        if character not in "\n\t" and unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            raise Refused(f"{what} holds the character U+{ord(character):04X} at {position:,}", rule="skill.text")


def _parsed(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Refused(f"the source of the skill is not Python: {type(error).__name__}", rule="skill.syntax") from None


def _function(name: str, tree: ast.Module) -> _Function:
    found = [node for node in tree.body if isinstance(node, _Function) and node.name == name]
    if len(found) != 1:
        raise Refused(f"the source defines {len(found)} functions called {name} at its top level, not one", rule="skill.function")
    return found[0]


def _schema(arguments: ast.arguments) -> dict[str, Json]:
    """The input schema of a signature, as far as its annotations say."""
    properties: dict[str, Json] = {}
    required: list[str] = []
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [*[None] * (len(positional) - len(arguments.defaults)), *arguments.defaults]
    for argument, default in [
        *zip(positional, defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]:
        schema = dict(_type(argument.annotation))
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


def _type(node: ast.expr | None) -> dict[str, Json]:
    match node:
        case ast.Constant(value=None):
            return _BASIC["None"]
        case ast.Constant(value=str(text)):
            return _BASIC.get(text, {})
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return _BASIC.get(name, {})
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return {"anyOf": [_type(left), _type(right)]}
        case ast.Subscript():
            return _subscript(node)
        case _:
            return {}


def _subscript(node: ast.Subscript) -> dict[str, Json]:
    name = node.value.id if isinstance(node.value, ast.Name) else node.value.attr if isinstance(node.value, ast.Attribute) else ""
    inner = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    if name == "Literal":
        return {"enum": [each.value for each in inner if isinstance(each, ast.Constant)]}
    if name == "Optional":
        return {"anyOf": [_type(inner[0]), _BASIC["None"]]}
    if name == "Union":
        return {"anyOf": [_type(each) for each in inner]}
    if name in _ITEMS:
        return {"type": "array", "items": _type(inner[0])}
    if name in ("dict", "Dict", "Mapping"):
        return {"type": "object", "additionalProperties": _type(inner[-1])}
    return _BASIC.get(name.lower(), {})


def _tools(tree: ast.Module) -> Iterator[str]:
    """The tools that the source names in a way that can be read off: imports, attributes of servers, calls by key."""
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
