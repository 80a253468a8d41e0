"""Puts the shape of a value into the OpenAPI document without validating the value against it."""

from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic_core import CoreSchema, core_schema


class DocumentedAs:
    """An annotation: the document describes the value as ``shape``, the service sends it as it is.

    Records and accounts are written by our own code and can be many: validating each of them again would only cost time.
    """

    def __init__(self, shape: Any) -> None:
        self._shape = shape

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler(source)

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        found = TypeAdapter[Any](self._shape).core_schema
        name = found.get("ref")
        # As a definition, the shape gets a name in the document; otherwise it would be repeated at each place.
        return handler(core_schema.definitions_schema(core_schema.definition_reference_schema(name), [found]) if name else found)


class EventsDocumentedAs(DocumentedAs):
    """An annotation for a stream of server-sent events: the data of each event is described as ``shape``."""

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "contentSchema": super().__get_pydantic_json_schema__(_schema, handler)}
