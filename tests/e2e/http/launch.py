"""``python -m tests.e2e.http.launch FILE``: the real service, with a few Python functions as tools."""

import asyncio
import sys
from typing import Any

from gristmill.config.tree import load_config
from gristmill.serve.http.http_server import run_service
from gristmill.serve.http.mount_mcp import list_mounts

sent: list[str] = []


def find(q: str, limit: int = 10) -> dict[str, Any]:
    """Find customers by their name."""
    return {"q": q, "limit": limit}


def send(to: str) -> dict[str, Any]:
    """Send a letter to a customer."""
    sent.append(to)
    return {"sent": to, "times": sent.count(to)}


TOOLS = {"crm.find": find, "crm.send": send}

if __name__ == "__main__":
    asyncio.run(run_service(load_config(sys.argv[1]), *list_mounts(), tools=TOOLS))
