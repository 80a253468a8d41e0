"""OpenAPI 3 operations become tools and requests. Pure: text in, values out; `openapi` does the talking."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, Literal, cast
from urllib.parse import quote, urljoin

import openapi_pydantic as three_one
import yaml
from openapi_pydantic.v3 import v3_0 as three_zero
from pydantic import ValidationError

from gristmill.errors import ConfigError, ToolFailed
from gristmill.model import Json, Tool
from gristmill.values import dataclass

_METHODS = ("get", "put", "post", "delete", "patch", "head", "options")
_READS = ("get", "head", "options")
_LONGEST_NAME = 100
Place = Literal["path", "query", "header", "cookie", "body", "whole_body"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A checked document; ``content`` is the plain JSON of it, in the 3.1 dialect of schemas."""

    content: Mapping[str, Json]

    def base_url(self, place: str) -> str:
        """The first server of the document; relative to where the document came from."""
        first = _table((self.content.get("servers") or [{}])[0])
        url = str(first.get("url", "/"))
        for name, variable in _table(first.get("variables")).items():
            url = url.replace(f"{{{name}}}", str(_table(variable).get("default", "")))
        url = urljoin(place, url) if place.startswith(("http://", "https://")) else url
        if not url.startswith(("http://", "https://")):
            raise ConfigError("the OpenAPI document does not say where its API is; set base_url")
        return url


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation: the tool it is, and how arguments become a request."""

    tool: Tool
    method: str
    path: str
    places: Mapping[str, Place] = field(default_factory=dict[str, Place])

    def request(self, arguments: Mapping[str, Json], base: str) -> dict[str, Any]:
        """Arguments for an HTTP client's ``request``.

        Raises:
            ToolFailed: an argument that the operation does not know, or a path without its parameter.
        """
        parts: dict[Place, dict[str, Json]] = {place: {} for place in ("path", "query", "header", "cookie", "body")}
        request: dict[str, Any] = {"method": self.method.upper()}
        for name, value in arguments.items():
            place = self.places.get(name)
            if place is None:
                raise ToolFailed(f"{self.tool.key} has no parameter {name!r}; it has {', '.join(self.places)}")
            if place == "whole_body":
                request["json"] = value
            elif value is not None:
                parts[place][name] = value
        request["url"] = base.rstrip("/") + _fill(self.path, parts["path"])
        request["params"] = {name: _text(value) for name, value in parts["query"].items()}
        request["headers"] = {name: _line(_text(value)) for name, value in parts["header"].items()}
        if parts["cookie"]:
            pairs = [f"{name}={quote(_line(_text(value)), safe='')}" for name, value in parts["cookie"].items()]
            request["headers"]["Cookie"] = "; ".join(pairs)
        return request | ({"json": parts["body"]} if parts["body"] else {})


def parse_document(text: str, place: str) -> Document:
    """Check a document of OpenAPI 3.0 or 3.1, in JSON or YAML.

    Raises:
        ConfigError: it is neither, or breaks the specification.
    """
    try:
        raw = yaml.safe_load(text)  # JSON is YAML too
    except (yaml.YAMLError, RecursionError, ValueError):
        raise ConfigError(f"{place} is neither JSON nor YAML") from None
    content = _table(raw)
    version = str(content.get("openapi", ""))
    try:
        if version.startswith("3.0"):
            three_zero.OpenAPI.model_validate(content)
            content = _table(_modern(content))
        elif version.startswith("3."):
            three_one.OpenAPI.model_validate(content)
        else:
            raise ConfigError(f"{place} is not an OpenAPI 3 document")
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        raise ConfigError(f"{place}: {'.'.join(map(str, problem['loc']))}: {problem['msg']}") from None
    return Document(content=content)


def read_operations(document: Document, server: str) -> Iterator[Operation]:
    """Every operation; of two with one name the first wins."""
    taken: set[str] = set()
    for path, item in _table(document.content.get("paths")).items():
        for method in _METHODS:
            if method in item:
                operation = _operation(document, server, _Place(path=path, method=method, item=item))
                if operation.tool.name not in taken:
                    taken.add(operation.tool.name)
                    yield operation


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    path: str
    method: str
    item: Mapping[str, Json]

    @property
    def spec(self) -> Mapping[str, Json]:
        return self.item[self.method]


def _operation(document: Document, server: str, place: _Place) -> Operation:
    properties: dict[str, Json] = {}
    required: list[str] = []
    places: dict[str, Place] = {}
    for parameter in _parameters(document, place):
        name = str(parameter["name"])
        properties[name] = _schema_of(parameter)
        places[name] = parameter["in"]
        required += [name] if parameter.get("required") else []
    _add_body(document, place, properties, required, places)
    schema: dict[str, Json] = {"type": "object", "properties": properties, "additionalProperties": False}
    schema |= {"required": required} if required else {}
    tool = Tool(
        server=server,
        name=_name(place),
        title=place.spec.get("summary"),
        description=str(place.spec.get("description") or place.spec.get("summary") or ""),
        input_schema=_with_definitions(document, schema),
        output_schema=_output(document, place.spec),
        annotations={"readOnlyHint": place.method in _READS, "destructiveHint": place.method == "delete"},
    )
    return Operation(tool=tool, method=place.method, path=place.path, places=places)


def _parameters(document: Document, place: _Place) -> Iterator[Mapping[str, Json]]:
    found: dict[tuple[str, str], Mapping[str, Json]] = {}
    for given in [*(place.item.get("parameters") or ()), *(place.spec.get("parameters") or ())]:
        parameter = _follow(document, given)
        found[parameter["in"], parameter["name"]] = parameter
    yield from found.values()


def _schema_of(parameter: Mapping[str, Json]) -> dict[str, Json]:
    schema = dict(parameter.get("schema") or {})
    return schema | ({"description": parameter["description"]} if parameter.get("description") else {})


def _add_body(
    document: Document, place: _Place, properties: dict[str, Json], required: list[str], places: dict[str, Place]
) -> None:
    body = _follow(document, _table(place.spec.get("requestBody")))
    content = _table(_table(body.get("content")).get("application/json"))
    if not content:
        return
    schema = _follow(document, _table(content.get("schema")))
    fields = _table(schema.get("properties"))
    if schema.get("type") == "object" and fields and not set(fields) & set(properties):
        properties.update(fields)
        places.update(dict.fromkeys(fields, cast("Place", "body")))
        required += [name for name in schema.get("required") or () if body.get("required")]
        return
    # A body that is no plain object, or whose fields clash with parameters, stays whole.
    name = "body" if "body" not in properties else "request_body"
    properties[name] = _table(content.get("schema"))
    places[name] = "whole_body"
    required += [name] if body.get("required") else []


def _output(document: Document, spec: Mapping[str, Json]) -> dict[str, Json] | None:
    for status in ("200", "201", "2XX"):
        response = _follow(document, _table(_table(spec.get("responses")).get(status)))
        schema = _table(_table(_table(response.get("content")).get("application/json")).get("schema"))
        if schema:
            return _with_definitions(document, schema)
    return None


def _with_definitions(document: Document, schema: dict[str, Json]) -> dict[str, Json]:
    """Bring along the components that the schema refers to, and only those."""
    components = _table(_table(document.content.get("components")).get("schemas"))
    wanted, found = _references(schema), dict[str, Json]()
    while wanted:
        name = wanted.pop()
        if name in components and name not in found:
            found[name] = components[name]
            wanted |= _references(components[name])
    moved = _move({**schema, "$defs": found} if found else schema)
    return cast("dict[str, Json]", moved)


def _references(value: Json) -> set[str]:
    if isinstance(value, dict):
        table = cast("dict[str, Json]", value)
        own = {table["$ref"].rpartition("/")[2]} if isinstance(table.get("$ref"), str) else set[str]()
        return own.union(*(_references(item) for item in table.values()))
    return set[str]().union(*(_references(item) for item in cast("list[Json]", value))) if isinstance(value, list) else set()


def _move(value: Json) -> Json:
    if isinstance(value, dict):
        table = cast("dict[str, Json]", value)
        return {
            key: item.replace("#/components/schemas/", "#/$defs/") if key == "$ref" and isinstance(item, str) else _move(item)
            for key, item in table.items()
        }
    return [_move(item) for item in cast("list[Json]", value)] if isinstance(value, list) else value


def _follow(document: Document, value: Mapping[str, Json]) -> Mapping[str, Json]:
    for _ in range(10):  # a reference may point to a reference, but not for ever
        target = value.get("$ref")
        if not isinstance(target, str):
            return value
        if not target.startswith("#/"):
            raise ConfigError(f"the reference {target} leaves the document")
        found: Json = document.content
        for part in target[2:].split("/"):
            found = _table(found).get(part.replace("~1", "/").replace("~0", "~"))
        value = _table(found)
    raise ConfigError("a reference of the document goes in circles")


def _table(value: Json) -> dict[str, Json]:
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def _modern(value: Json) -> Json:
    """Schemas of 3.0 in the words of 3.1: ``nullable`` and boolean bounds."""
    if isinstance(value, list):
        return [_modern(item) for item in cast("list[Json]", value)]
    if not isinstance(value, dict):
        return value
    table = {key: _modern(item) for key, item in cast("dict[str, Json]", value).items()}
    if table.get("nullable") is True and isinstance(table.get("type"), str):
        table["type"] = [table["type"], "null"]
        table.pop("nullable")
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if table.get(exclusive) is True and bound in table:
            table[exclusive] = table.pop(bound)
        elif table.get(exclusive) is False:
            table.pop(exclusive)
    return table


def _name(place: _Place) -> str:
    given = place.spec.get("operationId") or f"{place.method}{place.path}"
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", str(given)).strip("_")[:_LONGEST_NAME] or place.method


def _fill(path: str, values: Mapping[str, Json]) -> str:
    def value(found: re.Match[str]) -> str:
        if found[1] not in values:
            raise ToolFailed(f"the path {path} needs the argument {found[1]!r}")
        text = str(_text(values[found[1]]))
        # A dot segment would climb out of the path, and no encoding of it survives every server.
        if text in (".", ".."):
            raise ToolFailed(f"the argument {found[1]!r} cannot be {text!r}")
        return quote(text, safe="")

    return re.sub(r"\{([^{}]+)\}", value, path)


def _text(value: Json) -> Json:
    if isinstance(value, bool):
        return "true" if value else "false"
    return [_text(item) for item in cast("list[Json]", value)] if isinstance(value, list) else value


def _line(value: Json) -> str:
    text = ",".join(map(str, cast("list[Json]", value))) if isinstance(value, list) else str(value)
    if "\r" in text or "\n" in text:
        raise ToolFailed("a header cannot hold a line break")
    return text
