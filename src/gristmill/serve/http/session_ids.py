"""Sessions have a name of the caller's choice and an id of ours: either will do wherever one is meant."""

import uuid

from gristmill.errors import UnknownSession
from gristmill.serve.http.http_door import Door
from gristmill.session.session_register import SessionRecord


async def session_of_id(door: Door, text: str, tenant: str, caller: str | None) -> SessionRecord | None:
    """The live session whose id ``text`` is, if it is that caller's; a name may look like an id and be none."""
    if not _may_be_id(text):
        return None
    try:
        return await door.runtime.keeping.sessions.get(text, tenant, caller)
    except UnknownSession:
        return None


def _may_be_id(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False
