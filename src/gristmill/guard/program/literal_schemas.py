"""The part of JSON Schema that checking literals needs: which kinds of value fit, and whether a schema is understood in full."""

import ast
from collections.abc import Mapping, Set
from typing import cast

from gristmill.model import Json

MOST_PARTS = 3_000
MOST_DEPTH = 12
_DIALECTS = frozenset({"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"})
_KINDS = frozenset({"string", "integer", "number", "boolean", "null", "array", "object"})
_TEXT_KEYWORDS = frozenset({"title", "description", "format", "$comment"})
_IGNORED_KEYWORDS = frozenset({"default", "examples"})
_SIZE_KEYWORDS = frozenset({"minLength", "maxLength", "minItems", "maxItems"})
_NUMBER_KEYWORDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})


def is_small_schema(schema: Json, depth: int = 0) -> bool:
    """Tells whether the schema is so small and shallow that its typed module certainly exists."""
    return _count_parts(schema, depth) <= MOST_PARTS


def _count_parts(value: Json, depth: int) -> int:
    if depth > MOST_DEPTH:
        return MOST_PARTS + 1
    if isinstance(value, Mapping):
        return 1 + sum(_count_parts(each, depth + 1) for each in cast("Mapping[str, Json]", value).values())
    return 1 + sum(_count_parts(each, depth + 1) for each in cast("list[Json]", value)) if isinstance(value, list) else 1


def is_understood_schema(schema: Json) -> bool:
    """Tells whether every keyword of the schema is known here and used correctly, so that the schema is understood in full."""
    if isinstance(schema, bool):
        return True
    return isinstance(schema, Mapping) and all(
        _is_keyword_understood(*item) for item in cast("Mapping[str, Json]", schema).items()
    )


def _is_keyword_understood(word: str, value: Json) -> bool:
    listed = cast("list[Json]", value) if isinstance(value, list) else None
    match word:
        case "type":
            return value in _KINDS if isinstance(value, str) else bool(listed) and _KINDS.issuperset(map(str, listed or ()))
        case "properties":
            return isinstance(value, Mapping) and all(map(is_understood_schema, cast("Mapping[str, Json]", value).values()))
        case "required":
            return listed is not None and all(isinstance(each, str) for each in listed) and len(set(listed)) == len(listed)
        case "items" | "additionalProperties":
            return is_understood_schema(value)
        case "anyOf":
            return bool(listed) and all(map(is_understood_schema, listed or ()))
        case "enum":
            return bool(listed)
        case "$schema":
            return value in _DIALECTS if isinstance(value, str) else False
        case _:
            number = isinstance(value, int | float) and not isinstance(value, bool)
            return (
                word in _IGNORED_KEYWORDS
                or (word in _TEXT_KEYWORDS and isinstance(value, str))
                or (word in _NUMBER_KEYWORDS and number)
                or (word in _SIZE_KEYWORDS and isinstance(value, int) and number and value >= 0)
            )


def list_fitting_kinds(schema: Json) -> Set[str] | None:
    """Returns the kinds of value that may fit; None when any kind may."""
    if not isinstance(schema, Mapping):
        return None
    words = cast("Mapping[str, Json]", schema)
    if "$ref" in words or "allOf" in words or "oneOf" in words or "not" in words:
        return None
    if isinstance(words.get("anyOf"), list):
        branches = [list_fitting_kinds(each) for each in cast("list[Json]", words["anyOf"])]
        return None if None in branches else set[str]().union(*(branch for branch in branches if branch is not None))
    kind = words.get("type")
    if isinstance(kind, str):
        return {kind}
    return {str(each) for each in cast("list[Json]", kind)} if isinstance(kind, list) else None


def list_enum_values(schema: Json) -> list[Json] | None:
    """Returns the values in the schema's ``enum``, if it has one."""
    found = cast("Mapping[str, Json]", schema).get("enum") if isinstance(schema, Mapping) else None
    return cast("list[Json]", found) if isinstance(found, list) and found else None


def detect_literal_kind(node: ast.expr) -> str | None:
    """Returns the kind of value that ``node`` certainly has; None when the code does not show it."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        kind = detect_literal_kind(node.operand)
        return kind if kind in ("integer", "number") else None
    if isinstance(node, ast.Constant):
        return _find_constant_kind(node.value)
    if isinstance(node, ast.JoinedStr):
        return "string"
    if isinstance(node, ast.List | ast.ListComp | ast.Tuple):
        return "array"
    return "object" if isinstance(node, ast.Dict | ast.DictComp) else None


def _find_constant_kind(value: object) -> str | None:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    return "integer" if isinstance(value, int) else "string" if isinstance(value, str) else None


def kind_fits(kind: str, allowed: Set[str]) -> bool:
    """Tells whether a value of ``kind`` is of one of the ``allowed`` kinds."""
    return kind in allowed or (kind == "integer" and "number" in allowed)
