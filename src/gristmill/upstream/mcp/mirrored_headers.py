"""Keeps secret arguments out of HTTP headers.

A server can ask (`x-mcp-header`) that the value of a parameter is sent in a header too. Proxies read and log headers, so a
password must not stand there, whatever the server asks.
"""

from typing import Any, cast

from gristmill.config.sections.servers_section import names_secret
from gristmill.model import Json

_MIRROR = "x-mcp-header"


def keep_secrets_out_of_headers(tool: dict[str, Json]) -> None:
    """Removes the request to mirror a parameter into a header, in place, from every parameter that names a secret."""
    waiting: list[Any] = [tool.get("inputSchema")]
    while waiting:  # a loop, since a hostile schema is nested deeper than functions may be
        schema = waiting.pop()
        if not isinstance(schema, dict):
            continue
        properties = cast("dict[str, Json]", schema).get("properties")
        if isinstance(properties, dict):
            for name, inner in cast("dict[str, Json]", properties).items():
                if isinstance(inner, dict) and _MIRROR in inner and _is_secret(name, cast("dict[str, Json]", inner)):
                    del inner[_MIRROR]
                waiting.append(inner)


def _is_secret(name: str, schema: dict[str, Json]) -> bool:
    is_marked = schema.get("writeOnly") is True or schema.get("format") == "password"
    return is_marked or names_secret(name) or names_secret(str(schema[_MIRROR]))
