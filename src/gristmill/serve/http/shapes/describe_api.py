"""Reads operations and shapes from the OpenAPI document, for the page at ``/docs`` and for the reference."""

from typing import Any

from msgspec import Struct

_FRAMEWORK_SHAPES = ("HTTPValidationError", "ValidationError")


class ApiParameter(Struct, frozen=True, kw_only=True):
    """One parameter of an operation, or its body."""

    name: str
    place: str
    kind: str = ""


class ApiOperation(Struct, frozen=True, kw_only=True):
    """One method of one path. ``answers`` are pairs of a success status and the type of its body."""

    method: str
    path: str
    about: str
    takes: tuple[ApiParameter, ...]
    answers: tuple[tuple[str, str], ...]


class ApiField(Struct, frozen=True, kw_only=True):
    """One field of a shape."""

    name: str
    kind: str
    about: str = ""


class ApiShape(Struct, frozen=True, kw_only=True):
    """One JSON object that requests or responses contain."""

    name: str
    about: str
    fields: tuple[ApiField, ...]


def list_operations(openapi: dict[str, Any]) -> list[ApiOperation]:
    """Returns every operation, in the order of definition."""
    return [
        ApiOperation(
            method=method.upper(),
            path=path,
            about=one.get("description", ""),
            takes=tuple(_list_parameters(one)),
            answers=tuple(
                (status, _describe_answer(answer)) for status, answer in one["responses"].items() if status.startswith("2")
            ),
        )
        for path, methods in openapi["paths"].items()
        for method, one in methods.items()
    ]


def list_shapes(openapi: dict[str, Any]) -> list[ApiShape]:
    """Returns every shape that has fields or is one of several others, sorted by name."""
    return [
        ApiShape(
            name=name,
            about=schema.get("description", "").split("\n")[0] or f"Is {describe_type(schema)}.",
            fields=tuple(
                ApiField(
                    name=field,
                    kind=describe_type(one) + (", required" if field in schema.get("required", []) else ""),
                    about=one.get("description", ""),
                )
                for field, one in schema.get("properties", {}).items()
            ),
        )
        for name, schema in sorted(openapi["components"]["schemas"].items())
        if (schema.get("properties") or "oneOf" in schema) and name not in _FRAMEWORK_SHAPES
    ]


def describe_type(schema: dict[str, Any]) -> str:
    """Describes the type of a value in words; names of shapes and literal values stand between backticks."""
    if "$ref" in schema:
        return f"`{_shape_name(schema['$ref'])}`"
    if "const" in schema or "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    if kinds := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(describe_type(one) for one in kinds))
    if schema.get("type") == "array":
        return f"list of {describe_type(schema.get('items', {}))}"
    if isinstance(values := schema.get("additionalProperties"), dict):
        return f"object of {describe_type(values)}"  # pyright: ignore[reportUnknownArgumentType]
    return schema.get("type", "any")


def _list_parameters(operation: dict[str, Any]) -> list[ApiParameter]:
    found = [
        ApiParameter(name=one["name"], place=one["in"], kind=_describe_parameter(one)) for one in operation.get("parameters", [])
    ]
    body: dict[str, Any] = operation.get("requestBody", {}).get("content", {})
    return found + [
        ApiParameter(name=_shape_name(one.get("schema", {}).get("$ref", kind)), place="body") for kind, one in body.items()
    ]


def _describe_parameter(one: dict[str, Any]) -> str:
    schema: dict[str, Any] = one.get("schema", {})
    if one["in"] == "path":
        return ""
    if one.get("required"):
        return f"{describe_type(schema)}, required"
    default = schema.get("default")
    return describe_type(schema) + (f", default `{default}`" if default not in (None, "") else "")


def _describe_answer(answer: dict[str, Any]) -> str:
    for kind, content in answer.get("content", {}).items():
        schema: dict[str, Any] = content.get("schema", {})
        if "contentSchema" in schema:
            return f"`{kind}` of {describe_type(schema['contentSchema'])}"
        name = _shape_name(schema.get("$ref") or schema.get("items", {}).get("$ref", ""))
        return f"{'a list of ' if 'items' in schema else ''}`{name}`" if name else f"`{kind}`"
    return ""


def _shape_name(reference: str) -> str:
    return reference.rsplit("/", 1)[-1] if reference.startswith("#") else reference
