"""``/sessions``: those of whoever asks; those of his tenant, if he is its admin."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from gristmill.errors import UnknownSession
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.api_shapes import SessionAsked, SessionView
from gristmill.serve.http.http_door import Door
from gristmill.serve.http.require_scopes import EXECUTE, SEE
from gristmill.serve.http.session_ids import session_of_id
from gristmill.session.session_register import SessionRecord

SessionId = Annotated[str, Path(min_length=1, max_length=128, description="The session's name, or its id.")]


async def find_session(door: Door, who: Principal, name: str) -> SessionRecord:
    """The live session of that name or id, if it is ``who``'s.

    Raises:
        UnknownSession: it is not, or there is none; a stranger cannot tell which.
    """
    owner = None if "admin" in who.scopes else who.caller
    if (found := await session_of_id(door, name, who.tenant, owner)) is not None:
        return found
    for record in await door.runtime.keeping.sessions.list(who.tenant, owner):
        if record.name == name:
            return record
    raise UnknownSession(f"there is no session {name[:80]!r} of yours, or it has expired")


def add_sessions(routes: APIRouter, door: Door) -> None:
    """The routes of sessions."""

    @routes.get("/sessions", tags=["sessions"])
    async def sessions(who: Annotated[Principal, SEE], limit: Annotated[int, Query(ge=1, le=1_000)] = 100) -> list[SessionView]:
        """Your sessions, the one used last in front; all of your tenant's for an admin."""
        owner = None if "admin" in who.scopes else who.caller
        return [_view(record) for record in (await door.runtime.keeping.sessions.list(who.tenant, owner))[:limit]]

    @routes.post("/sessions", status_code=201, tags=["sessions"])
    async def open_session(asked: SessionAsked, who: Annotated[Principal, EXECUTE]) -> SessionView:
        """Open a session, or find it again. Executing with a name does the same."""
        return _view(await door.runtime.keeping.sessions.open(asked.name, who.tenant, who.caller))

    @routes.get("/sessions/{id}", tags=["sessions"])
    async def session(id: SessionId, who: Annotated[Principal, SEE]) -> SessionView:  # noqa: A002 - the path's own word
        """One session."""
        return _view(await find_session(door, who, id))

    @routes.delete("/sessions/{id}", status_code=204, tags=["sessions"])
    async def delete_session(id: SessionId, who: Annotated[Principal, EXECUTE]) -> Response:  # noqa: A002 - the path's own word
        """End a session: its interpreter, files, values and skills go with it."""
        record = await find_session(door, who, id)
        await door.runtime.delete_session(record.name, tenant=who.tenant, caller=record.caller)
        return Response(status_code=204)


def _view(record: SessionRecord) -> SessionView:
    return SessionView(
        id=record.handle, name=record.name, caller=record.caller, created=record.created, used=record.used, expires=record.expires
    )
