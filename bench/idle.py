"""Idle tools from a file of recorded servers, one JSON object per line: ``server`` and ``tools`` as they were listed."""

import json
import re
import sys
from pathlib import Path
from typing import Any

from examples.three_ways.measure import Idle
from examples.three_ways.servers import definition

SERVER = Path(__file__).with_name("idle_server.py")


def load_idle(file: Path, at_least: int) -> Idle:
    """The first servers of ``file`` that together have ``at_least`` tools."""
    servers: dict[str, Any] = {}
    definitions: dict[str, str] = {}
    for line in file.open(encoding="utf-8"):
        if len(definitions) >= at_least:
            break
        row = json.loads(line)
        name = "idle_" + re.sub(r"\W+", "_", row["server"])[:50]
        servers[name] = {
            "command": sys.executable,
            "args": ["-I", "-S", str(SERVER), str(file), row["server"]],
            "era": "legacy",
        }
        for tool in row["tools"]:
            definitions[f"{name}.{tool['name']}"] = definition(tool["name"], tool.get("description"), tool.get("inputSchema"))
    return Idle(servers=servers, definitions=definitions)
