"""Finds sessions by id: a session has a name that the caller chose and an id that we chose, and clients may send either."""

import uuid

from gristmill.errors import UnknownSession
from gristmill.model import Identity
from gristmill.runtime.values.session_values import SessionRecord
from gristmill.serve.http.http_door import HttpDoor


async def find_session_by_id(
    door: HttpDoor, text: str, *, identity: Identity, whole_tenant: bool = False
) -> SessionRecord | None:
    """Returns the live session with the id ``text`` if it belongs to ``identity``, or with ``whole_tenant`` to its tenant.

    Returns None otherwise: ``text`` may also be a name that only looks like an id.
    """
    if not _is_uuid(text):
        return None
    try:
        return await door.runtime.session_stores.sessions.get(text, identity=identity, whole_tenant=whole_tenant)
    except UnknownSession:
        return None


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False
