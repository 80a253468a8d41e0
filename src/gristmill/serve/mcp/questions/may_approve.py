"""Whether the one behind a request may approve: asking and deciding are two rights, and a client answers for whoever asks."""

from typing import Any

from gristmill.serve.mcp.questions.ask_client import Ctx

APPROVES = "gristmill.approves"
"""Where in the ASGI scope a guard writes whether the verified caller may approve."""


def may_approve(ctx: Ctx | None) -> bool:
    """By what the guard in front wrote into the scope; yes where there is none, since there is one user then."""
    scope: Any = getattr(getattr(ctx, "request", None), "scope", None) or {}
    return bool(scope.get(APPROVES, True))
