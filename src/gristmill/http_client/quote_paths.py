"""Quotes names for the paths of routes."""

from urllib.parse import quote

from gristmill.errors import Refused


def quote_part(text: str) -> str:
    """Returns a name as one part of a path.

    Raises:
        Refused: it is no name: in a URL it would lead to another route.
    """
    if text in ("", ".", ".."):
        raise Refused(f"{text!r} is not a name", rule="client.path")
    return quote(text, safe="")


def build_file_route(session: str, path: str) -> str:
    """Returns the route of a file of a session."""
    return f"/sessions/{quote_part(session)}/files/{'/'.join(quote_part(part) for part in path.split('/'))}"
