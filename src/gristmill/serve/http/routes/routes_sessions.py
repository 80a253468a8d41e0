"""Routes of ``/sessions``: the sessions of the caller, or of the whole tenant for an admin."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response

from gristmill.errors import UnknownSession
from gristmill.runtime.values.session_values import SessionRecord
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.http_door import HttpDoor
from gristmill.serve.http.require_scopes import EXECUTE, EXECUTE_OR_READ
from gristmill.serve.http.session_ids import find_session_by_id
from gristmill.serve.http.shapes.api_shapes import SessionAsked, SessionView

SessionId = Annotated[str, Path(min_length=1, max_length=128, description="The session's name, or its id.")]


async def find_session(door: HttpDoor, who: Principal, name: str) -> SessionRecord:
    """Returns the live session with that name or id, if ``who`` may use it.

    Raises:
        UnknownSession: there is no such session, or ``who`` may not use it; the error does not say which.
    """
    whole_tenant = "admin" in who.scopes
    if (found := await find_session_by_id(door, name, identity=who.identity, whole_tenant=whole_tenant)) is not None:
        return found
    try:
        return await door.runtime.session_stores.sessions.find_by_name(name, identity=who.identity, whole_tenant=whole_tenant)
    except UnknownSession:
        raise UnknownSession(f"you have no session {name[:80]!r}, or it has expired") from None


def add_sessions(routes: APIRouter, door: HttpDoor) -> None:
    """Adds the routes of sessions."""

    @routes.get("/sessions", tags=["sessions"])
    async def sessions(
        who: Annotated[Principal, EXECUTE_OR_READ], limit: Annotated[int, Query(ge=1, le=1_000)] = 100
    ) -> list[SessionView]:
        """Lists your sessions, or all of your tenant for an admin, the one used last first."""
        sessions = door.runtime.session_stores.sessions
        whole_tenant = "admin" in who.scopes
        found = await sessions.list(identity=who.identity, whole_tenant=whole_tenant, limit=limit)
        deleting = await sessions.list_deleting(identity=who.identity, whole_tenant=whole_tenant)
        return [*map(_build_view, found), *(_build_view(record, "deleting") for record in deleting)][:limit]

    @routes.post("/sessions", status_code=201, tags=["sessions"])
    async def open_session(asked: SessionAsked, who: Annotated[Principal, EXECUTE]) -> SessionView:
        """Opens a session, or finds the one with that name. Executing with a session name does the same."""
        return _build_view(await door.runtime.session_stores.sessions.open(asked.name, identity=who.identity))

    @routes.get("/sessions/{id}", tags=["sessions"])
    async def session(id: SessionId, who: Annotated[Principal, EXECUTE_OR_READ]) -> SessionView:  # noqa: A002 - the path's own word
        """Returns one session."""
        try:
            return _build_view(await find_session(door, who, id))
        except UnknownSession:
            if (deleting := await _find_deleting(door, who, id)) is not None:
                return deleting
            raise

    @routes.delete(
        "/sessions/{id}",
        status_code=204,
        tags=["sessions"],
        responses={202: {"model": SessionView, "description": "Nobody can use it any more; other processes still drop it."}},
    )
    async def delete_session(id: SessionId, who: Annotated[Principal, EXECUTE]) -> Response:  # noqa: A002 - the path's own word
        """Ends a session and deletes its interpreter, files, values and skills, in every process that uses the same store."""
        record = await find_session(door, who, id)
        if await door.runtime.delete_session(record.name, identity=record.owner):
            return Response(status_code=204)
        return Response(_build_view(record, "deleting").model_dump_json(), status_code=202, media_type="application/json")


async def _find_deleting(door: HttpDoor, who: Principal, text: str) -> SessionView | None:
    """Returns the session with that name or id that is being deleted, or None."""
    sessions = door.runtime.session_stores.sessions
    found = await sessions.list_deleting(identity=who.identity, whole_tenant="admin" in who.scopes)
    return next((_build_view(each, "deleting") for each in found if text in (each.handle, each.name)), None)


def _build_view(record: SessionRecord, state: Literal["live", "deleting"] = "live") -> SessionView:
    return SessionView(
        id=record.handle,
        name=record.name,
        caller=record.owner.caller,
        created=record.created,
        used=record.used,
        expires=record.expires,
        state=state,
    )
