"""Our upstream client as the conformance suite drives it: connect to the last argument, list, call what there is.

The suite says in the environment which scenario it plays; what a person does in a browser is done here by an HTTP client.
"""

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

import anyio
import httpx2
from mcp import MCPError

from gristmill.config.sections.servers_section import OAuthConfig, ServerConfig
from gristmill.events import ignore_event
from gristmill.model import Tool, ToolCall
from gristmill.upstream.base import InputAnswer, InputRequest
from gristmill.upstream.build_server import make_http_address
from gristmill.upstream.http import http_transport as http
from gristmill.upstream.http.http_transport import make_http_transport
from gristmill.upstream.listing.list_tools import ToolFilter, list_tools
from gristmill.upstream.login.oauth_login import listen_for_browser
from gristmill.upstream.mcp.mcp_connection import ConnectionHooks, McpConnection, open_connection
from gristmill.upstream.secret_references import SecretReferences

DOCUMENT = "https://conformance-test.local/client-metadata.json"
SAMPLES: dict[str, Any] = {"string": "text", "integer": 3, "number": 2.5, "boolean": True, "array": [], "object": {}}


class Noticed(http.AddressGuard):
    """The guard, which says when the stream is open by which an older server speaks first."""

    listening: anyio.Event

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if request.method == "GET":
            self.listening.set()
        return response


class Memory:
    """Tokens that live as long as the process."""

    def __init__(self) -> None:
        self._text: str | None = None

    def read(self) -> str | None:
        return self._text

    def write(self, text: str) -> None:
        self._text = text

    def forget(self) -> bool:
        was, self._text = self._text, None
        return was is not None


async def visit(url: str) -> None:
    """What a person does in a browser."""
    async with httpx2.AsyncClient() as browser:
        redirect = await browser.get(url)
        await browser.get(redirect.headers["location"])


async def answer(request: InputRequest) -> InputAnswer:
    """A person who takes what is proposed."""
    properties: Mapping[str, Any] = (request.schema or {}).get("properties", {})
    filled = {name: field.get("default", SAMPLES.get(field.get("type"), "text")) for name, field in properties.items()}
    return InputAnswer(action="accept", content=filled)


def arguments(tool: Tool) -> dict[str, Any]:
    properties: Mapping[str, Any] = tool.input_schema.get("properties", {})
    wanted = tool.input_schema.get("required", [])
    return {name: SAMPLES.get(properties.get(name, {}).get("type"), "text") for name in wanted}


async def look_around(connection: McpConnection) -> None:
    """Resources and prompts, where the server has them."""
    can, client = connection.client.server_capabilities, connection.client
    if can.resources:
        for resource in (await client.list_resources()).resources:
            await client.read_resource(str(resource.uri))
    if can.prompts:
        for prompt in (await client.list_prompts()).prompts:
            await client.get_prompt(prompt.name, {argument.name: "text" for argument in prompt.arguments or ()})


async def drive(connection: McpConnection, context: Mapping[str, Any]) -> None:
    tools = await list_tools(connection.client, "it", ToolFilter())
    calls = [(call["name"], call["arguments"]) for call in context.get("toolCalls", ())]
    calls = calls or [(tool.name, arguments(tool)) for tool in tools]
    for number, (name, given) in enumerate(calls):
        if name == "echo_schema" or "schema" in given:
            given = {"schema": dict(tools[0].input_schema)}
        try:
            await connection.call(name, ToolCall(id=number, tool=f"it.{name}", arguments=given), 20.0)
        except MCPError as error:
            print(f"{name}: {error}", file=sys.stderr)
    await look_around(connection)


def oauth(scenario: str, context: Mapping[str, Any]) -> OAuthConfig | None:
    if not scenario.startswith("auth/"):
        return None
    if "client_id" in context:
        return OAuthConfig(client_id=context["client_id"], client_secret="${env:CLIENT_SECRET}")
    return OAuthConfig(client_metadata_url=DOCUMENT)


async def main() -> None:
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    memory, Noticed.listening, http.AddressGuard = Memory(), anyio.Event(), Noticed
    config = ServerConfig(url=sys.argv[-1], oauth=oauth(scenario, context))
    secrets = SecretReferences(environ={"CLIENT_SECRET": context.get("client_secret", "")})
    hooks = ConnectionHooks(server="it", emit=ignore_event, ask=answer, on_tools_changed=lambda: None)
    async with listen_for_browser(visit, seconds=20.0) as browser:
        address = make_http_address("it", config, secrets, lambda _: memory, browser)
        async with open_connection(lambda: make_http_transport(address), "auto", hooks) as connection:
            if scenario.startswith(("elicitation", "sse-retry")):
                # What such a server says by that stream before somebody listens is lost, or comes as if it were opened again.
                with anyio.move_on_after(5):
                    await Noticed.listening.wait()
            await drive(connection, context)


if __name__ == "__main__":
    anyio.run(main)
