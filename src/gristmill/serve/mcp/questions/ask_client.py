"""Asks the person who uses a client: directly on older connections. In the 2026 revision ``ActiveRun.ask`` does it instead, and
the client answers with a second request."""

import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.shared.message import ServerMessageMetadata
from mcp_types import ElicitRequest, ElicitRequestParams, ElicitRequestURLParams, ElicitResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

Ctx = ServerRequestContext[Any, Any]
"""The context of one request, of the SDK."""
AskClient = Callable[[ElicitRequestParams], Awaitable[ElicitResult]]

ANSWER_SECONDS = 600.0


def is_modern(ctx: Ctx) -> bool:
    """Whether the client speaks the 2026 revision, which has no requests from server to client."""
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def can_show_form(ctx: Ctx) -> bool:
    """Whether the client declares that it can show a form to its user."""
    capabilities = ctx.session.client_capabilities
    asked = capabilities.elicitation if capabilities else None
    if asked is None:
        return False
    # Clients of 2025-06-18 send an empty object, which means forms; later ones name the kinds.
    return asked.form is not None or asked.url is None


def can_open_page(ctx: Ctx) -> bool:
    """Whether the client declares that it can send its user to a web page."""
    capabilities = ctx.session.client_capabilities
    return bool(capabilities and capabilities.elicitation and capabilities.elicitation.url is not None)


async def ask_directly(ctx: Ctx, params: ElicitRequestParams, meta: Mapping[str, Any] | None = None) -> ElicitResult:
    """Asks on the connection of the request itself; no answer in time counts as no."""
    update: dict[str, Any] = {"meta": dict(meta)} if meta else {}
    if isinstance(params, ElicitRequestURLParams):
        update["elicitation_id"] = uuid.uuid4().hex
    request = ElicitRequest(params=params.model_copy(update=update))
    with anyio.move_on_after(ANSWER_SECONDS):
        return await ctx.session.send_request(
            request, ElicitResult, metadata=ServerMessageMetadata(related_request_id=ctx.request_id)
        )
    return ElicitResult(action="cancel")
