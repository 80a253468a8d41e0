"""A tool server on stdio that appends notes to a file, so that a test can count the writes that really arrived.

The note "never" is written down and never answered: its caller can be killed while it waits.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("notes", log_level="ERROR")
notes = Path(sys.argv[1])


@server.tool(structured_output=False)
def add_note(text: str) -> str:
    """Add a note; it cannot be removed."""
    with notes.open("a") as file:
        file.write(f"{text}\n")
    while text == "never":
        time.sleep(1)
    return f"noted {text}"


@server.tool(structured_output=False)
def send_note(text: str) -> str:
    """Send a note to everybody; policies ask first."""
    return add_note(f"sent {text}")


@server.tool(structured_output=False, annotations=ToolAnnotations(read_only_hint=True))
def find_person(number: int) -> str:
    """Find a person by number."""
    person: dict[str, Any] = {"id": number, "name": f"Ann {number}", "email": f"ann{number}@example.com"}
    return json.dumps(person)


server.run()
