"""A tool server for the soak: it reads, writes and fails. Standard library only: ``python soak_server.py``."""

import json
import sys
from typing import Any

TOOLS = [
    {
        "name": "read",
        "description": "Read the rows of a table.",
        "inputSchema": {"type": "object", "properties": {"count": {"type": "integer"}}},
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "write",
        "description": "Write one row to a table.",
        "inputSchema": {"type": "object", "properties": {"row": {"type": "string"}}},
        "annotations": {"readOnlyHint": False},
    },
    {
        "name": "fail",
        "description": "Fail with an error.",
        "inputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
    },
]


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Answer one request."""
    if method == "initialize":
        about = {"name": "soak", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call" and params["name"] == "fail":
        return {"content": [{"type": "text", "text": "it failed, as asked"}], "isError": True}
    if method == "tools/call":
        rows = [{"id": number, "mail": f"user{number}@example.com"} for number in range(params["arguments"].get("count", 1))]
        return {"content": [{"type": "text", "text": json.dumps(rows)}]}
    return {}


if __name__ == "__main__":
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            result = answer(message["method"], message.get("params") or {})
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
