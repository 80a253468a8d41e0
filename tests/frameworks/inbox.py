"""What applications do whose framework cannot ask in the middle of a call: show the plans that wait, decide, continue."""

import json
import os
import urllib.request
from typing import Any


def request(url: str, body: Any = None, token: str = "GRISTMILL_TOKEN") -> Any:
    """Sends a request with one of the tokens of the environment."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ[token]}"}
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(url, data=data, headers=headers)
    with urllib.request.urlopen(asked, timeout=30) as answer:
        return json.load(answer)


def approve_waiting_plan(service: str) -> tuple[list[str], str]:
    """Approves the plan that waits, as a person who may; returns its calls, and the execution that is to be resumed."""
    (waiting,) = request(f"{service}/approvals", token="GRISTMILL_APPROVER_TOKEN")
    request(f"{service}/approvals/{waiting['id']}", {"approve": "all"}, token="GRISTMILL_APPROVER_TOKEN")
    return [call["tool"] for call in waiting["plan"]["calls"]], waiting["execution"]
