"""A tool server whose every text tries to become markup or script where it is shown. Standard library only."""

import json
import sys
from typing import Any

IMAGE = "<img src=x onerror=alert(1)>"
HOSTILE = f"{IMAGE}\"><script>alert(2)</script><svg onload=alert(3)>'`${{alert(4)}}{{{{alert(5)}}}}javascript:alert(6)"


def tools() -> list[dict[str, Any]]:
    """Two tools; the name of the first is no name at all."""
    text = {"type": "string", "description": HOSTILE, "default": HOSTILE, "title": HOSTILE}
    schema = {"type": "object", "properties": {"text": text}, "description": HOSTILE, "title": HOSTILE}
    hints = {"title": HOSTILE, "readOnlyHint": True}
    return [
        {"name": name, "title": HOSTILE, "description": HOSTILE, "inputSchema": schema, "annotations": hints}
        for name in (IMAGE, "say")
    ]


def main() -> None:
    """Answer line by line."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        match request["method"]:
            case "initialize":
                about = {"name": HOSTILE, "title": HOSTILE, "version": HOSTILE}
                result: dict[str, Any] = {
                    "protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about, "instructions": HOSTILE,
                }  # fmt: skip
            case "tools/list":
                result = {"tools": tools()}
            case "tools/call":
                result = {"content": [{"type": "text", "text": HOSTILE}]}
            case _:
                result = {}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()
