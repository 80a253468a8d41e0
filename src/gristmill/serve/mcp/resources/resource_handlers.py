"""Handlers of the resource methods: callers list, read and follow their own files."""

from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

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
from gristmill.harmless_text import neutralize_text
from gristmill.serve.mcp.mcp_door import McpDoor
from gristmill.serve.mcp.questions.ask_client import Ctx, is_modern
from gristmill.serve.mcp.resources.file_resources import (
    TEMPLATE,
    ResourcePlace,
    list_resources,
    parse_uri,
    read_resource,
)
from gristmill.serve.mcp.tasks.tasks_extension import require_tasks

if TYPE_CHECKING:
    from gristmill.runtime.open.session_stores import SessionRecord

LEGACY_NOT_FOUND = -32002
MOST_LISTED = 500

TEMPLATES = ListResourceTemplatesResult(
    resource_templates=[
        ResourceTemplate(
            uri_template=TEMPLATE, name="workspace", description="A file in the workspace of a session of execute_code."
        )
    ]
)


class ResourceHandlers:
    """The handlers of the resource methods, for one door."""

    def __init__(self, door: McpDoor) -> None:
        self._door = door

    async def list_templates(self, _ctx: Ctx, _params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        """Lists the one URI template that there is."""
        return TEMPLATES

    async def list_files(self, ctx: Ctx, _params: PaginatedRequestParams | None) -> ListResourcesResult:
        """Lists the files of the caller's sessions, the session used last first."""
        found: list[Resource] = []
        who = self._door.identify_caller(ctx)
        stores = (await self._door.hall()).session_stores
        for session in await stores.sessions.list(identity=who):
            if len(found) < MOST_LISTED:
                found += await list_resources(
                    stores.files(session), self._door.name_session(session.handle), limit=MOST_LISTED - len(found)
                )
        return ListResourcesResult(resources=found)

    async def read_file(self, ctx: Ctx, params: ReadResourceRequestParams) -> ReadResourceResult:
        """Reads one file."""
        try:
            place = parse_uri(str(params.uri))
            hall, session = await self._door.hall(), await self._find_session(ctx, place)
            mask = partial(hall.content_masks.mask_file, session)
            return ReadResourceResult(contents=[await read_resource(hall.session_stores.files(session), place, mask)])
        except Error as error:
            _raise_not_found(ctx, error, str(params.uri))

    async def subscribe(self, ctx: Ctx, params: SubscribeRequestParams) -> EmptyResult:
        """Subscribes to one file, for clients of older revisions."""
        try:
            place = parse_uri(str(params.uri))
            await self._find_session(ctx, place)
        except Error as error:
            _raise_not_found(ctx, error, str(params.uri))
        self._door.file_changes.subscribe(place.uri, ctx.session)
        return EmptyResult()

    async def unsubscribe(self, ctx: Ctx, params: UnsubscribeRequestParams) -> EmptyResult:
        """Ends the subscription to one file."""
        if await self._is_own(ctx, str(params.uri)):
            self._door.file_changes.unsubscribe(str(params.uri))
        return EmptyResult()

    async def listen(self, ctx: Ctx, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        """Streams changes to clients of the 2026 revision. Changes of tasks are not streamed: clients poll tasks."""
        notifications: Any = (ctx.params or {}).get("notifications")
        if isinstance(notifications, dict) and "taskIds" in notifications:
            require_tasks(ctx)
        wanted = params.notifications.resource_subscriptions or []
        kept = [uri for uri in wanted if await self._is_own(ctx, str(uri))]
        filtered = params.notifications.model_copy(update={"resource_subscriptions": kept or None})
        return await self._door.file_changes.get_listener(self._door.identify_caller(ctx))(
            ctx, params.model_copy(update={"notifications": filtered})
        )

    async def _find_session(self, ctx: Ctx, place: ResourcePlace) -> "SessionRecord":
        return await self._door.find_session(place.session, self._door.identify_caller(ctx))

    async def _is_own(self, ctx: Ctx, uri: str) -> bool:
        try:
            await self._find_session(ctx, parse_uri(uri))
        except Error:
            return False
        return True


def _raise_not_found(ctx: Ctx, error: Error, uri: str) -> NoReturn:
    code = INVALID_PARAMS if is_modern(ctx) else LEGACY_NOT_FOUND
    raise MCPError(code=code, message=neutralize_text(error.message), data={"uri": neutralize_text(uri[:500])}) from None
