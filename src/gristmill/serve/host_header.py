"""Reads the host from a ``Host`` header: exactly, since what is left over could be another host to another program."""

import re

_HOST = re.compile(r"([a-z0-9](?:[a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")


def read_host(header: str | None) -> str:
    """Returns the host of a ``Host`` header in lower case, without its port; an empty text if the header has another form."""
    found = _HOST.fullmatch((header or "").lower())
    return found[1] if found else ""
