"""Which parameters a server may have sent in headers."""

from typing import Any

import pytest
from mcp.shared.inbound import mcp_param_headers, x_mcp_header_map

from gristmill.upstream.mcp.mirrored_headers import keep_secrets_out_of_headers

SCHEMA: dict[str, Any] = {"type": "string", "x-mcp-header": "Plain"}


def sent(properties: dict[str, Any], arguments: dict[str, Any]) -> dict[str, str]:
    """The headers that the SDK adds to a call."""
    tool = {"name": "log_in", "inputSchema": {"type": "object", "properties": properties}}
    keep_secrets_out_of_headers(tool)
    return mcp_param_headers(x_mcp_header_map(tool["inputSchema"]), arguments)


@pytest.mark.requirement("T112")
@pytest.mark.parametrize(
    ("name", "schema"),
    [("password", SCHEMA), ("api_key", SCHEMA), ("x", {**SCHEMA, "format": "password"}), ("x", {**SCHEMA, "writeOnly": True}),
     ("x", {**SCHEMA, "x-mcp-header": "Access-Token"})],
)  # fmt: skip
def test_a_secret_is_not_sent_in_a_header(name: str, schema: dict[str, Any]) -> None:
    inner = {"login": {"type": "object", "properties": {name: {**schema}}}}
    assert sent({name: {**schema}}, {name: "s3cret"}) == {}
    assert sent(inner, {"login": {name: "s3cret"}}) == {}


def test_other_parameters_are_sent_in_the_header_that_the_server_names() -> None:
    assert sent({"region": {**SCHEMA}}, {"region": "eu"}) == {"Mcp-Param-Plain": "eu"}


@pytest.mark.parametrize("schema", [None, [], "x", {"properties": []}, {"properties": {"a": None}}])
def test_a_schema_that_is_none_is_left_alone(schema: Any) -> None:
    tool = {"name": "x", "inputSchema": schema}
    keep_secrets_out_of_headers(tool)
    assert tool["inputSchema"] == schema
