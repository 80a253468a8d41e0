"""Converts OpenAPI 3 operations to tools and calls to requests. Pure: openapi_server.py sends the requests."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, cast
from urllib.parse import quote, urljoin

import msgspec
import openapi_pydantic as three_one
from msgspec import Struct, field
from msgspec.structs import replace
from openapi_pydantic.v3 import v3_0 as three_zero
from pydantic import BaseModel, ValidationError

from gristmill.errors import ConfigError, ToolFailed
from gristmill.loose_json import as_list, as_mapping
from gristmill.model import Json, Tool
from gristmill.upstream.listing.tool_filter import ToolFilter
from gristmill.upstream.openapi.document_text import parse_document_text
from gristmill.upstream.openapi.operation_names import OperationPlace, list_places
from gristmill.upstream.openapi.pinned_origin import check_base_url, join_path, read_origin
from gristmill.upstream.openapi.reserved_headers import find_reserved_headers, may_set_parameter

READ_MARK = "x-read-only"
"""An operation of a document that says so only reads, although its method is POST, say."""
_READ_ONLY_METHODS = ("get", "head", "options")
_MOST_OPERATIONS = 10_000
_MOST_BYTES = 256_000_000
"""Of all definitions together."""
ParameterPlace = Literal["path", "query", "header", "cookie", "body", "whole_body"]


class OpenApiDocument(Struct, frozen=True, kw_only=True):
    """A checked document. ``content`` is its plain JSON, with schemas in the 3.1 dialect."""

    content: Mapping[str, Json]
    reserved: frozenset[str] = frozenset()
    """Headers, in lower case, that parameters must not set."""
    sends_cookies: bool = False
    """Whether the configuration sets the Cookie header."""

    def find_base_url(self, place: str) -> str:
        """Returns the URL of the document's first server; a relative one is resolved against ``place``, the document's own URL.

        A document that was fetched may name its own origin only: else it would choose the host that gets our credentials.

        Raises:
            ConfigError: the document does not say where its API is, or names another host than its own.
        """
        first = as_mapping(next(iter(as_list(self.content.get("servers"))), None))
        url = str(first.get("url", "/"))
        for name, variable in as_mapping(first.get("variables")).items():
            url = url.replace(f"{{{name}}}", str(as_mapping(variable).get("default", "")))
        is_fetched = place.startswith(("http://", "https://"))
        url = urljoin(place, url) if is_fetched else url
        if not url.startswith(("http://", "https://")):
            raise ConfigError("the OpenAPI document does not say where its API is; set base_url")
        if is_fetched and read_origin(url) != read_origin(place):
            raise ConfigError(
                f"the OpenAPI document says that its API is at {url[:200]}, another host than its own; set base_url"
            )
        return check_base_url(url)


class OpenApiOperation(Struct, frozen=True, kw_only=True):
    """One operation: its tool, and how arguments become a request."""

    tool: Tool
    method: str
    path: str
    id: str = ""
    """The name that the document gives it, which is longer where the tool's name was shortened."""
    places: Mapping[str, ParameterPlace] = field(default_factory=dict[str, ParameterPlace])
    needs_body: bool = False
    """Whether an object is sent even if none of its fields is given."""

    def build_request(self, arguments: Mapping[str, Json], base: str) -> dict[str, Any]:
        """Returns the keyword arguments for an HTTP client's ``request``.

        Raises:
            ToolFailed: the operation does not have such an argument, a parameter of the path is missing, or the path leads
                out of ``base``.
        """
        parts: dict[ParameterPlace, dict[str, Json]] = {place: {} for place in ("path", "query", "header", "cookie", "body")}
        request: dict[str, Any] = {"method": self.method.upper()}
        for name, value in arguments.items():
            place = self.places.get(name)
            if place is None:
                raise ToolFailed(f"{self.tool.key} has no parameter {name!r}; it has {', '.join(self.places)}")
            if place == "whole_body":
                request["json"] = value
            elif value is not None:
                parts[place][name] = value
        request["url"] = join_path(base, _fill_path(self.path, parts["path"]))
        request["params"] = {name: _to_parameter(value) for name, value in parts["query"].items()}
        request["headers"] = {name: _to_header_line(_to_parameter(value)) for name, value in parts["header"].items()}
        if parts["cookie"]:
            pairs = [f"{name}={quote(_to_header_line(_to_parameter(value)), safe='')}" for name, value in parts["cookie"].items()]
            request["headers"]["Cookie"] = "; ".join(pairs)
        if parts["body"] or (self.needs_body and "json" not in request):
            request["json"] = parts["body"]
        return request


def parse_document(text: str, place: str) -> OpenApiDocument:
    """Parses and checks an OpenAPI 3.0 or 3.1 document in JSON or YAML.

    Raises:
        ConfigError: it is not such a document, or it breaks the specification.
    """
    content = as_mapping(parse_document_text(text, place))
    version = str(content.get("openapi", ""))
    if version.startswith("3.0"):
        _check_document(content, three_zero.OpenAPI, place)
        content = as_mapping(_convert_to_3_1(content))
    elif version.startswith("3."):
        _check_document(content, three_one.OpenAPI, place)
    else:
        raise ConfigError(f"{place} is not an OpenAPI 3 document")
    return OpenApiDocument(content=content)


def _check_document(content: Mapping[str, Json], model: type[BaseModel], place: str) -> None:
    """Checks one path and one component at a time: in a thread, others can run between two checks."""
    try:
        for part in _split_document(content):
            model.model_validate(part)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        raise ConfigError(f"{place}: {'.'.join(map(str, problem['loc']))}: {problem['msg']}") from None


def _split_document(content: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    """Yields documents that together have everything that ``content`` has."""
    paths, components = content.get("paths"), content.get("components")
    empty = {name: dict[str, Json]() for name in ("paths", "components") if isinstance(content.get(name), dict)}
    yield {**content, **empty}
    small: dict[str, Json] = {"openapi": content.get("openapi"), "info": content.get("info"), "paths": {}}
    for path, item in as_mapping(paths).items():
        yield {**small, "paths": {path: item}}
    for kind, entries in as_mapping(components).items():
        named = as_mapping(entries)
        if not isinstance(entries, dict):
            yield {**small, "components": {kind: entries}}
        for name, entry in named.items():
            yield {**small, "components": {kind: {name: entry}}}


def read_operations(
    document: OpenApiDocument, server: str, headers: Iterable[str] = (), reads: Iterable[str] = ()
) -> Iterator[OpenApiOperation]:
    """Yields every operation; of two with the same name the first wins. ``headers`` are set by us: no parameter may set them.

    ``reads`` are patterns of operations that only read, whatever their method is.

    Raises:
        ConfigError: there are too many, or their definitions are too large.
    """
    taken: set[str] = set()
    size = 0
    configured = {name.lower() for name in headers}
    reserved = find_reserved_headers(document.content, configured)
    document = replace(document, reserved=reserved, sends_cookies="cookie" in configured)
    marked = ToolFilter(include=tuple(reads))
    for place in list_places(as_mapping(document.content.get("paths"))):
        is_marked = bool(marked.include) and (marked.admits(place.name) or marked.admits(place.id))
        operation = _read_operation(document, server, place, is_marked_read=is_marked)
        size += _measure_operation(operation)
        if len(taken) >= _MOST_OPERATIONS or size > _MOST_BYTES:
            raise ConfigError(
                f"the OpenAPI document has more than {_MOST_OPERATIONS:,} operations,"
                f" or their definitions take more than {_MOST_BYTES:,} bytes; use a document with fewer of them"
            )
        if operation.tool.name not in taken:
            taken.add(operation.tool.name)
            yield operation


def _measure_operation(operation: OpenApiOperation) -> int:
    """Returns the size of the definition in bytes. Each tool has its own copy of the components that it uses."""
    # YAML has dates and sets, which are not JSON: their size as text is close enough.
    return len(msgspec.json.encode([operation.tool.input_schema, operation.tool.output_schema], enc_hook=str))


def _read_operation(document: OpenApiDocument, server: str, place: OperationPlace, *, is_marked_read: bool) -> OpenApiOperation:
    properties: dict[str, Json] = {}
    required: list[str] = []
    places: dict[str, ParameterPlace] = {}
    for parameter in _read_parameters(document, place):
        name = str(parameter["name"])
        properties[name] = _read_parameter_schema(parameter)
        places[name] = parameter["in"]
        required += [name] if parameter.get("required") else []
    needs_body = _add_body(document, place, properties, required, places)
    schema: dict[str, Json] = {"type": "object", "properties": properties, "additionalProperties": False}
    schema |= {"required": required} if required else {}
    is_read = is_marked_read or place.method in _READ_ONLY_METHODS or place.spec.get(READ_MARK) is True
    tool = Tool(
        server=server,
        name=place.name,
        title=place.spec.get("summary"),
        description=str(place.spec.get("description") or place.spec.get("summary") or ""),
        input_schema=_add_definitions(document, schema),
        output_schema=_read_output_schema(document, place.spec),
        annotations={"readOnlyHint": is_read, "destructiveHint": place.method == "delete" and not is_read},
    )
    return OpenApiOperation(tool=tool, method=place.method, path=place.path, id=place.id, places=places, needs_body=needs_body)


def _read_parameters(document: OpenApiDocument, place: OperationPlace) -> Iterator[Mapping[str, Json]]:
    found: dict[tuple[str, str], Mapping[str, Json]] = {}
    for given in [*(place.item.get("parameters") or ()), *(place.spec.get("parameters") or ())]:
        parameter = _follow_reference(document, given)
        where, name = str(parameter["in"]), str(parameter["name"])
        # A parameter that would replace a header of ours is left out, so the rest of the operation can still be used.
        if may_set_parameter(where, name, document.reserved, sends_cookies=document.sends_cookies):
            found[where, name] = parameter
    yield from found.values()


def _read_parameter_schema(parameter: Mapping[str, Json]) -> dict[str, Json]:
    schema = dict(parameter.get("schema") or {})
    return schema | ({"description": parameter["description"]} if parameter.get("description") else {})


def _add_body(
    document: OpenApiDocument,
    place: OperationPlace,
    properties: dict[str, Json],
    required: list[str],
    places: dict[str, ParameterPlace],
) -> bool:
    """Adds the fields of the body; returns whether the body is an object that the operation requires."""
    body = _follow_reference(document, as_mapping(place.spec.get("requestBody")))
    content = as_mapping(as_mapping(body.get("content")).get("application/json"))
    if not content:
        return False
    schema = _follow_reference(document, as_mapping(content.get("schema")))
    fields = as_mapping(schema.get("properties"))
    if schema.get("type") == "object" and fields and not set(fields) & set(properties):
        properties.update(fields)
        places.update(dict.fromkeys(fields, cast("ParameterPlace", "body")))
        required += [name for name in schema.get("required") or () if body.get("required")]
        return bool(body.get("required"))
    # A body that is not a plain object, or whose fields have the names of parameters, is passed as one argument.
    name = "body" if "body" not in properties else "request_body"
    properties[name] = as_mapping(content.get("schema"))
    places[name] = "whole_body"
    required += [name] if body.get("required") else []
    return False


def _read_output_schema(document: OpenApiDocument, spec: Mapping[str, Json]) -> dict[str, Json] | None:
    for status in ("200", "201", "2XX"):
        response = _follow_reference(document, as_mapping(as_mapping(spec.get("responses")).get(status)))
        schema = as_mapping(as_mapping(as_mapping(response.get("content")).get("application/json")).get("schema"))
        if schema:
            return _add_definitions(document, schema)
    return None


def _add_definitions(document: OpenApiDocument, schema: dict[str, Json]) -> dict[str, Json]:
    """Adds the components that the schema refers to, and only those."""
    components = as_mapping(as_mapping(document.content.get("components")).get("schemas"))
    wanted, found = _find_references(schema), dict[str, Json]()
    while wanted:
        name = wanted.pop()
        if name in components and name not in found:
            found[name] = components[name]
            wanted |= _find_references(components[name])
    moved = _move_references({**schema, "$defs": found} if found else schema)
    return cast("dict[str, Json]", moved)


def _find_references(value: Json) -> set[str]:
    if isinstance(value, dict):
        table = cast("dict[str, Json]", value)
        own = {table["$ref"].rpartition("/")[2]} if isinstance(table.get("$ref"), str) else set[str]()
        return own.union(*(_find_references(item) for item in table.values()))
    return set[str]().union(*(_find_references(item) for item in cast("list[Json]", value))) if isinstance(value, list) else set()


def _move_references(value: Json) -> Json:
    if isinstance(value, dict):
        table = cast("dict[str, Json]", value)
        return {
            key: item.replace("#/components/schemas/", "#/$defs/")
            if key == "$ref" and isinstance(item, str)
            else _move_references(item)
            for key, item in table.items()
        }
    return [_move_references(item) for item in cast("list[Json]", value)] if isinstance(value, list) else value


def _follow_reference(document: OpenApiDocument, value: Mapping[str, Json]) -> Mapping[str, Json]:
    for _ in range(10):  # a reference may point to a reference; the cap stops circles
        target = value.get("$ref")
        if not isinstance(target, str):
            return value
        if not target.startswith("#/"):
            raise ConfigError(f"the reference {target} points outside the document; only references within it are followed")
        found: Json = document.content
        for part in target[2:].split("/"):
            found = as_mapping(found).get(part.replace("~1", "/").replace("~0", "~"))
        value = as_mapping(found)
    raise ConfigError("a reference of the document goes in circles")


def _convert_to_3_1(value: Json) -> Json:
    """Converts schemas of OpenAPI 3.0 to the 3.1 dialect: ``nullable`` and boolean bounds."""
    if isinstance(value, list):
        return [_convert_to_3_1(item) for item in cast("list[Json]", value)]
    if not isinstance(value, dict):
        return value
    table = {key: _convert_to_3_1(item) for key, item in cast("dict[str, Json]", value).items()}
    if table.get("nullable") is True and isinstance(table.get("type"), str):
        table["type"] = [table["type"], "null"]
        table.pop("nullable")
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if table.get(exclusive) is True and bound in table:
            table[exclusive] = table.pop(bound)
        elif table.get(exclusive) is False:
            table.pop(exclusive)
    return table


def _fill_path(path: str, values: Mapping[str, Json]) -> str:
    def encode_value(found: re.Match[str]) -> str:
        if found[1] not in values:
            raise ToolFailed(f"the path {path} needs the argument {found[1]!r}")
        return quote(str(_to_parameter(values[found[1]])), safe="")

    return re.sub(r"\{([^{}]+)\}", encode_value, path)


def _to_parameter(value: Json) -> Json:
    if isinstance(value, bool):
        return "true" if value else "false"
    return [_to_parameter(item) for item in cast("list[Json]", value)] if isinstance(value, list) else value


def _to_header_line(value: Json) -> str:
    text = ",".join(map(str, cast("list[Json]", value))) if isinstance(value, list) else str(value)
    if any(character < " " or character == "\x7f" for character in text):
        raise ToolFailed("a header cannot contain a line break or another control character")
    return text
