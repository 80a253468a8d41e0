"""A tool server on stdio that says of itself what a file says, answers without an output schema, and sends pictures."""

import json
import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp_types import AudioContent, BlobResourceContents, EmbeddedResource, ImageContent, TextContent

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

server = MCPServer("shifting", log_level="ERROR")
told = json.loads(Path(sys.argv[1]).read_text())


@server.tool(description=told.get("description", "Get a customer by number."), structured_output=False)
def get_customer(number: int) -> str:
    return json.dumps({"id": number, "name": f"Ann {number}", "tags": ["vip"] if number % 2 else []})


@server.tool(description=told.get("list", "List all customers."), structured_output=False)
def list_customers() -> str:
    return "[]"


@server.tool(structured_output=False)
def picture() -> list[TextContent | ImageContent]:
    """A very small picture."""
    return [TextContent(type="text", text="one pixel"), ImageContent(type="image", data=PNG, mime_type="image/png")]


@server.tool(structured_output=False)
def sound(size: int) -> AudioContent:
    """Noise."""
    return AudioContent(type="audio", data="AAAA" * (size // 3), mime_type="audio/wav")


@server.tool(structured_output=False)
def document() -> EmbeddedResource:
    """A file."""
    return EmbeddedResource(
        type="resource", resource=BlobResourceContents(uri="file:///a.bin", blob="AAEC", mime_type="application/x-thing")
    )


server.run()
