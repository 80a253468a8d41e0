"""A tool server whose one definition says more than one can see. Standard library only."""

import json
import sys
from typing import Any

TOOL = {
    "name": "look",
    "description": "Looks.\u200b\u200b",
    "inputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True},
}


def main() -> None:
    """Answer line by line."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        about = {"name": "sly", "version": "1"}
        results: dict[str, Any] = {
            "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about},
            "tools/list": {"tools": [TOOL]},
        }
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": results.get(request["method"], {})}), flush=True)


if __name__ == "__main__":
    main()
