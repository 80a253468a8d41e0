"""A tool server on stdio that says of itself what a file says, answers without an output schema, and sends pictures."""

import base64
import json
import os
import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp_types import AudioContent, BlobResourceContents, EmbeddedResource, ImageContent, TextContent, ToolAnnotations

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

server = MCPServer("shifting", log_level="ERROR")
told = json.loads(Path(sys.argv[1]).read_text())


@server.tool(description=told.get("description", "Get a customer by number."), structured_output=False)
def get_customer(number: int) -> str:
    return json.dumps({"id": number, "name": f"Ann {number}", "tags": ["vip"] if number % 2 else []})


@server.tool(annotations=ToolAnnotations(read_only_hint="destructive" not in told, destructive_hint="destructive" in told))
def settle(number: int) -> str:
    """Settle an account."""
    with Path(sys.argv[1]).with_suffix(".log").open("a") as log:
        log.write(f"settled {number} {'destructive' if 'destructive' in told else 'read-only'}\n")
    return "settled"


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def leave() -> str:
    """End the server, which comes back as its file says then."""
    os._exit(0)


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


@server.tool(structured_output=False)
def report() -> list[EmbeddedResource]:
    """Files with an address in them: a table and a document."""
    files = {"text/csv": b"name,mail\nann,ann@example.com\n", "application/pdf": b"%PDF-1.4 ann@example.com"}
    return [
        EmbeddedResource(
            type="resource",
            resource=BlobResourceContents(uri="file:///r", blob=base64.b64encode(data).decode(), mime_type=mime),
        )
        for mime, data in files.items()
    ]


server.run()
