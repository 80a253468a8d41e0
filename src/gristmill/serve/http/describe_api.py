"""The API in words, out of its OpenAPI: for the page at ``/docs`` and for the reference."""

from typing import Any

from gristmill.values import dataclass

_NOT_OURS = ("HTTPValidationError", "ValidationError")


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A parameter of an operation, or its body."""

    name: str
    place: str
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of one path. ``answers`` are statuses with what comes with them."""

    method: str
    path: str
    about: str
    takes: tuple[Taken, ...]
    answers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a shape."""

    name: str
    kind: str
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What goes in or out as JSON."""

    name: str
    about: str
    fields: tuple[Field, ...]


def operations(openapi: dict[str, Any]) -> list[Operation]:
    """Every operation, in the order of their definition."""
    return [
        Operation(
            method=method.upper(),
            path=path,
            about=one.get("description", ""),
            takes=tuple(_taken(one)),
            answers=tuple((status, _answer(answer)) for status, answer in one["responses"].items() if status.startswith("2")),
        )
        for path, methods in openapi["paths"].items()
        for method, one in methods.items()
    ]


def shapes(openapi: dict[str, Any]) -> list[Shape]:
    """Every shape that has fields, by name."""
    return [
        Shape(
            name=name,
            about=schema.get("description", "").split("\n")[0],
            fields=tuple(
                Field(
                    name=field,
                    kind=kind_of(one) + (", required" if field in schema.get("required", []) else ""),
                    about=one.get("description", ""),
                )
                for field, one in schema["properties"].items()
            ),
        )
        for name, schema in sorted(openapi["components"]["schemas"].items())
        if schema.get("properties") and name not in _NOT_OURS
    ]


def kind_of(schema: dict[str, Any]) -> str:
    """What a value may be, in words; names of shapes and values stand between backticks."""
    if "$ref" in schema:
        return f"`{_name(schema['$ref'])}`"
    if "const" in schema or "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    if kinds := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(kind_of(one) for one in kinds))
    if schema.get("type") == "array":
        return f"list of {kind_of(schema.get('items', {}))}"
    if isinstance(values := schema.get("additionalProperties"), dict):
        return f"object of {kind_of(values)}"  # pyright: ignore[reportUnknownArgumentType]
    return schema.get("type", "any")


def _taken(operation: dict[str, Any]) -> list[Taken]:
    found = [Taken(name=one["name"], place=one["in"], kind=_parameter(one)) for one in operation.get("parameters", [])]
    body: dict[str, Any] = operation.get("requestBody", {}).get("content", {})
    return found + [Taken(name=_name(one.get("schema", {}).get("$ref", kind)), place="body") for kind, one in body.items()]


def _parameter(one: dict[str, Any]) -> str:
    schema: dict[str, Any] = one.get("schema", {})
    if one["in"] == "path":
        return ""
    if one.get("required"):
        return f"{kind_of(schema)}, required"
    default = schema.get("default")
    return kind_of(schema) + (f", default `{default}`" if default not in (None, "") else "")


def _answer(answer: dict[str, Any]) -> str:
    for kind, content in answer.get("content", {}).items():
        schema: dict[str, Any] = content.get("schema", {})
        name = _name(schema.get("$ref") or schema.get("items", {}).get("$ref", ""))
        return f"{'a list of ' if 'items' in schema else ''}`{name}`" if name else f"`{kind}`"
    return ""


def _name(reference: str) -> str:
    return reference.rsplit("/", 1)[-1] if reference.startswith("#") else reference
