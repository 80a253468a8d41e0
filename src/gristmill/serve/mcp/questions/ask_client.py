"""Questions to the person behind a client: straight through on older connections, by a second request on those of 2026."""

import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.shared.message import ServerMessageMetadata
from mcp_types import ElicitRequest, ElicitRequestParams, ElicitRequestURLParams, ElicitResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

Ctx = ServerRequestContext[Any, Any]
AskClient = Callable[[ElicitRequestParams], Awaitable[ElicitResult]]

ANSWER_SECONDS = 600.0


def is_modern(ctx: Ctx) -> bool:
    """Whether the client speaks the revision without requests from server to client."""
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def can_answer(ctx: Ctx) -> bool:
    """Whether the client says that it can put a form to its user."""
    capabilities = ctx.session.client_capabilities
    asked = capabilities.elicitation if capabilities else None
    if asked is None:
        return False
    # Clients of 2025-06-18 send an empty object and mean forms; later ones say which kinds.
    return asked.form is not None or asked.url is None


def can_visit(ctx: Ctx) -> bool:
    """Whether the client says that it can send its user to a page."""
    capabilities = ctx.session.client_capabilities
    return bool(capabilities and capabilities.elicitation and capabilities.elicitation.url is not None)


async def ask_through(ctx: Ctx, params: ElicitRequestParams, meta: Mapping[str, Any] | None = None) -> ElicitResult:
    """Ask on the connection of the request itself; no answer in time is a no."""
    said: dict[str, Any] = {"meta": dict(meta)} if meta else {}
    if isinstance(params, ElicitRequestURLParams):
        said["elicitation_id"] = uuid.uuid4().hex
    request = ElicitRequest(params=params.model_copy(update=said))
    with anyio.move_on_after(ANSWER_SECONDS):
        return await ctx.session.send_request(
            request, ElicitResult, metadata=ServerMessageMetadata(related_request_id=ctx.request_id)
        )
    return ElicitResult(action="cancel")
