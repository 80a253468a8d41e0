"""Takes small samples of results and describes their shape, two levels deep, so that a program can be corrected."""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from gristmill.escape_text import shorten_name
from gristmill.loose_json import as_list, as_mapping
from gristmill.model import Json

LEVELS = 2
"""How many levels of objects are described."""
MOST_FIELDS = 12
ERROR_FIELDS = ("error", "errors", "error_message")
"""Fields of results that tell of an error."""
_TEXT_CHARACTERS, _KEPT_CHARACTERS = 60, 500
"""How much of a text is shown, and how much is kept so that it can be masked before it is cut."""
_NAME_CHARACTERS = 40
_KINDS = {str: "str", bool: "bool", int: "int", float: "float", type(None): "None"}
_SCHEMA_KINDS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


class ResultSample(Struct, frozen=True):
    """The shape of one value: its kind, its size, and of what it holds the first few parts."""

    kind: str
    size: int = 0
    fields: Mapping[str, "ResultSample"] | None = None
    item: "ResultSample | None" = None
    text: str = ""


def take_sample(value: Json, levels: int = LEVELS) -> ResultSample:
    """Returns the shape of ``value``; the work is bounded, however large the value is."""
    if isinstance(value, Mapping):
        mapping = cast("Mapping[str, Json]", value)
        shown = islice(mapping.items(), MOST_FIELDS) if levels else ()
        fields = {_name_field(name): _sample_field(name, each, levels - 1) for name, each in shown}
        return ResultSample("object", len(mapping), fields if levels else None)
    if isinstance(value, list):
        items = cast("list[Json]", value)
        return ResultSample("list", len(items), None, take_sample(items[0], levels) if items else None)
    if isinstance(value, str):
        return ResultSample("str", len(value), None, None, value[:_KEPT_CHARACTERS] if levels == LEVELS else "")
    return ResultSample(_KINDS.get(type(value), "value"))  # pyright: ignore[reportUnknownArgumentType]


def _name_field(name: object) -> str:
    """Returns the name of a field; a long one is left out, since a part of it might be data that no mask recognizes."""
    text = str(name)
    return text if len(text) <= _NAME_CHARACTERS else "..."


def _sample_field(name: object, value: Json, levels: int) -> ResultSample:
    """Returns the shape of one field; of texts only those are kept that tell of an error."""
    if isinstance(value, str) and name in ERROR_FIELDS:
        return ResultSample("str", len(value), None, None, value[:_KEPT_CHARACTERS])
    return take_sample(value, levels)


def change_texts(sample: ResultSample, change: Callable[[str], str]) -> ResultSample:
    """Returns a sample whose texts were changed, at the top and in the fields that tell of an error."""
    if sample.text:
        return replace(sample, text=change(sample.text))
    if sample.fields and any(each.text for each in sample.fields.values()):
        return replace(sample, fields={name: change_texts(each, change) for name, each in sample.fields.items()})
    return sample


def describe_sample(sample: ResultSample) -> str:
    """Returns a result in words: ``a list of 2 objects {"id": int, "at": {"day": str}}``."""
    if sample.kind == "list":
        if sample.item is None:
            return "an empty list"
        inner = f"objects {_write_shape(sample.item)}" if sample.item.kind == "object" else _write_shape(sample.item)
        return f"a list of {sample.size:,} {inner}"
    if sample.kind == "object":
        return f"an object {_write_shape(sample)}"
    if sample.kind == "str":
        return f"text: {quote_text(sample)}"
    return "None" if sample.kind == "None" else f"one {sample.kind}"


def quote_text(sample: ResultSample) -> str:
    """Returns the beginning of a text, in quotes on one line."""
    return f"{sample.text[:_TEXT_CHARACTERS]!r}{'...' if max(sample.size, len(sample.text)) > _TEXT_CHARACTERS else ''}"


def sample_schema(schema: object, levels: int = LEVELS) -> ResultSample | None:
    """Returns the shape that a JSON schema describes; None if it describes none."""
    content = as_mapping(schema)
    kind = content.get("type")
    if kind == "object" or "properties" in content:
        properties = as_mapping(content.get("properties"))
        if not properties:
            return None
        shown = islice(properties.items(), MOST_FIELDS) if levels else ()
        fields = {_name_field(name): sample_schema(each, levels - 1) or ResultSample("value") for name, each in shown}
        return ResultSample("object", len(properties), fields if levels else None)
    if kind == "array":
        return ResultSample("list", -1, None, sample_schema(content.get("items"), levels) or ResultSample("value"))
    options = [option for option in as_list(kind) if isinstance(option, str) and option != "null"]
    return ResultSample(_SCHEMA_KINDS[name]) if (name := options[0] if options else kind) in _SCHEMA_KINDS else None


def describe_schema_sample(sample: ResultSample) -> str:
    """Returns the shape of a schema in words; how many items a list has is not known."""
    if sample.kind == "list" and sample.item is not None:
        return f"a list of {'objects ' if sample.item.kind == 'object' else ''}{_write_shape(sample.item)}"
    return describe_sample(sample)


def _write_shape(sample: ResultSample) -> str:
    if sample.kind == "object":
        if sample.fields is None:
            return "{...}"
        inside = [f'"{shorten_name(name, _NAME_CHARACTERS)}": {_write_shape(each)}' for name, each in sample.fields.items()]
        more = sample.size - len(inside)
        return "{" + ", ".join([*inside, *([f"{more:,} more"] if more > 0 else [])]) + "}"
    if sample.kind == "list":
        return f"[{_write_shape(sample.item)}]" if sample.item else "[]"
    return sample.kind
