"""Handlers for resources: what a caller may list, read and follow."""

from typing import Any, NoReturn

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    EmptyResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

from gristmill.errors import Error
from gristmill.serve.harmless_text import harmless
from gristmill.serve.mcp.mcp_door import Door
from gristmill.serve.mcp.questions.ask_client import Ctx, is_modern
from gristmill.serve.mcp.resources.file_resources import TEMPLATE, Files, Place, listed, place_of, read
from gristmill.serve.mcp.tasks.tasks_extension import require_tasks

LEGACY_NOT_FOUND = -32002
MOST_LISTED = 500

TEMPLATES = ListResourceTemplatesResult(
    resource_templates=[
        ResourceTemplate(
            uri_template=TEMPLATE, name="workspace", description="A file in the workspace of a session of execute_code."
        )
    ]
)


class Resources:
    """The resource methods over one door."""

    def __init__(self, door: Door) -> None:
        self._door = door

    async def templates(self, _ctx: Ctx, _params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        """The one kind of address there is."""
        return TEMPLATES

    async def listing(self, ctx: Ctx, _params: PaginatedRequestParams | None) -> ListResourcesResult:
        """Files of this caller's sessions, the one used last in front."""
        found: list[Resource] = []
        who = self._door.who(ctx)
        keeping = (await self._door.hall()).keeping
        for session in await keeping.sessions.list(who.tenant, who.caller):
            if len(found) < MOST_LISTED:
                found += await listed(keeping.files(session), session.handle, limit=MOST_LISTED - len(found))
        return ListResourcesResult(resources=found)

    async def reading(self, ctx: Ctx, params: ReadResourceRequestParams) -> ReadResourceResult:
        """One file."""
        try:
            place = place_of(str(params.uri))
            return ReadResourceResult(contents=[await read(await self._files(ctx, place), place)])
        except Error as error:
            _refuse(ctx, error, str(params.uri))

    async def subscribe(self, ctx: Ctx, params: SubscribeRequestParams) -> EmptyResult:
        """Follow one file, on older connections."""
        try:
            place = place_of(str(params.uri))
            await self._files(ctx, place)
        except Error as error:
            _refuse(ctx, error, str(params.uri))
        self._door.changes.subscribe(place.uri, ctx.session)
        return EmptyResult()

    async def unsubscribe(self, ctx: Ctx, params: UnsubscribeRequestParams) -> EmptyResult:
        """No longer follow it."""
        if await self._is_own(ctx, str(params.uri)):
            self._door.changes.unsubscribe(str(params.uri))
        return EmptyResult()

    async def listen(self, ctx: Ctx, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        """Follow changes, on connections of 2026. Tasks are asked for, not followed."""
        notifications: Any = (ctx.params or {}).get("notifications")
        if isinstance(notifications, dict) and "taskIds" in notifications:
            require_tasks(ctx)
        wanted = params.notifications.resource_subscriptions or []
        kept = [uri for uri in wanted if await self._is_own(ctx, str(uri))]
        filtered = params.notifications.model_copy(update={"resource_subscriptions": kept or None})
        return await self._door.changes.listener(self._door.who(ctx))(ctx, params.model_copy(update={"notifications": filtered}))

    async def _files(self, ctx: Ctx, place: Place) -> Files:
        keeping = (await self._door.hall()).keeping
        who = self._door.who(ctx)
        return keeping.files(await keeping.sessions.get(place.session, who.tenant, who.caller))

    async def _is_own(self, ctx: Ctx, uri: str) -> bool:
        try:
            await self._files(ctx, place_of(uri))
        except Error:
            return False
        return True


def _refuse(ctx: Ctx, error: Error, uri: str) -> NoReturn:
    code = INVALID_PARAMS if is_modern(ctx) else LEGACY_NOT_FOUND
    raise MCPError(code=code, message=harmless(error.message), data={"uri": harmless(uri[:500])}) from None
