"""Reads JSON schemas from servers without trusting their shape: a part with an unexpected type counts as empty."""

from gristmill.loose_json import as_list, as_mapping
from gristmill.model import Json, Tool

MAX_RESULT_FIELDS = 12


def read_parameter_schemas(tool: Tool) -> dict[str, dict[str, Json]]:
    """Returns the schemas of a tool's parameters by name."""
    properties = as_mapping(tool.input_schema.get("properties"))
    return {str(name): as_mapping(schema) for name, schema in properties.items()}


def read_required_names(tool: Tool) -> frozenset[str]:
    """Returns the names of the parameters that a call must give."""
    return frozenset(name for name in as_list(tool.input_schema.get("required")) if isinstance(name, str))


def read_parameter_descriptions(tool: Tool) -> dict[str, str]:
    """Returns the descriptions of the parameters that have one."""
    texts = ((name, schema.get("description")) for name, schema in read_parameter_schemas(tool).items())
    return {name: text for name, text in texts if isinstance(text, str) and text}


def list_result_fields(tool: Tool) -> list[str]:
    """Returns the names of the fields that the tool's declared result has at its top, or that the items of its list have."""
    schema = as_mapping(tool.output_schema)
    fields = as_mapping(schema.get("properties"))
    if len(fields) == 1:  # a server wraps a list into an object with one field
        schema = as_mapping(next(iter(fields.values())))
    inner = as_mapping(as_mapping(schema.get("items")).get("properties")) or as_mapping(schema.get("properties"))
    return list(inner or fields)[:MAX_RESULT_FIELDS]
