"""As much of JSON Schema as a check of literals needs: which kinds of value fit, and whether a schema is understood in full."""

import ast
from collections.abc import Mapping, Set
from typing import cast

from gristmill.model import Json

MOST_PARTS = 3_000
MOST_DEPTH = 12
_DIALECTS = frozenset({"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"})
_KINDS = frozenset({"string", "integer", "number", "boolean", "null", "array", "object"})
_TEXTS = frozenset({"title", "description", "format", "$comment"})
_ANYTHING = frozenset({"default", "examples"})
_SIZES = frozenset({"minLength", "maxLength", "minItems", "maxItems"})
_BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})


def is_tame(schema: Json, depth: int = 0) -> bool:
    """Whether the schema is small and shallow enough that its typed module surely exists."""
    return _parts(schema, depth) <= MOST_PARTS


def _parts(value: Json, depth: int) -> int:
    if depth > MOST_DEPTH:
        return MOST_PARTS + 1
    if isinstance(value, Mapping):
        return 1 + sum(_parts(each, depth + 1) for each in cast("Mapping[str, Json]", value).values())
    return 1 + sum(_parts(each, depth + 1) for each in cast("list[Json]", value)) if isinstance(value, list) else 1


def is_plain(schema: Json) -> bool:
    """Whether every word of the schema is one we know, used as it should be: then it says what we think it says."""
    if isinstance(schema, bool):
        return True
    return isinstance(schema, Mapping) and all(_is_plain(*item) for item in cast("Mapping[str, Json]", schema).items())


def _is_plain(word: str, value: Json) -> bool:
    listed = cast("list[Json]", value) if isinstance(value, list) else None
    match word:
        case "type":
            return value in _KINDS if isinstance(value, str) else bool(listed) and _KINDS.issuperset(map(str, listed or ()))
        case "properties":
            return isinstance(value, Mapping) and all(map(is_plain, cast("Mapping[str, Json]", value).values()))
        case "required":
            return listed is not None and all(isinstance(each, str) for each in listed) and len(set(listed)) == len(listed)
        case "items" | "additionalProperties":
            return is_plain(value)
        case "anyOf":
            return bool(listed) and all(map(is_plain, listed or ()))
        case "enum":
            return bool(listed)
        case "$schema":
            return value in _DIALECTS if isinstance(value, str) else False
        case _:
            number = isinstance(value, int | float) and not isinstance(value, bool)
            return (
                word in _ANYTHING
                or (word in _TEXTS and isinstance(value, str))
                or (word in _BOUNDS and number)
                or (word in _SIZES and isinstance(value, int) and number and value >= 0)
            )


def kinds(schema: Json) -> Set[str] | None:
    """The kinds of value that may fit; None when any may."""
    if not isinstance(schema, Mapping):
        return None
    words = cast("Mapping[str, Json]", schema)
    if "$ref" in words or "allOf" in words or "oneOf" in words or "not" in words:
        return None
    if isinstance(words.get("anyOf"), list):
        branches = [kinds(each) for each in cast("list[Json]", words["anyOf"])]
        return None if None in branches else set[str]().union(*(branch for branch in branches if branch is not None))
    kind = words.get("type")
    if isinstance(kind, str):
        return {kind}
    return {str(each) for each in cast("list[Json]", kind)} if isinstance(kind, list) else None


def choices(schema: Json) -> list[Json] | None:
    """The only values that fit, if the schema lists them."""
    found = cast("Mapping[str, Json]", schema).get("enum") if isinstance(schema, Mapping) else None
    return cast("list[Json]", found) if isinstance(found, list) and found else None


def literal_kind(node: ast.expr) -> str | None:
    """The kind of value that ``node`` surely makes; None when that cannot be seen."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        kind = literal_kind(node.operand)
        return kind if kind in ("integer", "number") else None
    if isinstance(node, ast.Constant):
        return _constant_kind(node.value)
    if isinstance(node, ast.JoinedStr):
        return "string"
    if isinstance(node, ast.List | ast.ListComp | ast.Tuple):
        return "array"
    return "object" if isinstance(node, ast.Dict | ast.DictComp) else None


def _constant_kind(value: object) -> str | None:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    return "integer" if isinstance(value, int) else "string" if isinstance(value, str) else None


def fits(kind: str, allowed: Set[str]) -> bool:
    """Whether a value of ``kind`` may be one of ``allowed``."""
    return kind in allowed or (kind == "integer" and "number" in allowed)
