"""One recorded tool server that lists its tools and does nothing else: ``idle_server.py FILE SERVER``. Standard library only.

It lets published definitions stand idle in a catalogue without installing the packages they come from.
"""

import json
import sys
from typing import Any

REVISION = "2025-11-25"


def main(file: str, server: str) -> None:
    """Answer until standard input ends."""
    with open(file, encoding="utf-8") as lines:
        tools = next(row["tools"] for row in map(json.loads, lines) if row["server"] == server)
    answers: dict[str, Any] = {
        "initialize": {
            "protocolVersion": REVISION,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": server, "version": "recorded"},
        },
        "tools/list": {"tools": tools},
        "ping": {},
    }
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        known = answers.get(message["method"])
        error = {"error": {"code": -32601, "message": "this server only lists its tools"}}
        print(
            json.dumps({"jsonrpc": "2.0", "id": message["id"], **({"result": known} if known is not None else error)}), flush=True
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
