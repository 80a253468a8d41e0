"""A tool server on stdio that writes each key it is given to a file, so that a test can count the writes that really arrived.

Standard library only: it is started some hundred times.
"""

import json
import os
import sys
from typing import Any

TOOL = {
    "name": "add",
    "description": "Adds a key.",
    "inputSchema": {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]},
    "annotations": {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False},
}


def add(key: str) -> dict[str, Any]:
    file = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(file, f"{key}\n".encode())  # one call: a line is there whole or not at all
    finally:
        os.close(file)
    return {"content": [{"type": "text", "text": f"added {key}"}]}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    match request["method"]:
        case "initialize":
            version = request["params"]["protocolVersion"]
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "counting", "version": "1"}}
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            return add(request["params"]["arguments"]["key"])
        case _:
            return {}


if __name__ == "__main__":
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer(message)}) + "\n")
            sys.stdout.flush()
