"""Checks whether the caller of a request may approve: executing and approving are two rights, and the client that answers an
approval question acts for the same caller that executes."""

from typing import Any

from gristmill.serve.mcp.questions.ask_client import Ctx

APPROVES = "gristmill.approves"
"""The key of the ASGI scope under which the guard says whether the verified caller may approve."""


def may_approve(ctx: Ctx | None) -> bool:
    """Whether the guard's entry in the ASGI scope allows it; true without a guard, since there is only one user then."""
    scope: Any = getattr(getattr(ctx, "request", None), "scope", None) or {}
    return bool(scope.get(APPROVES, True))
