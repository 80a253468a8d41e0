"""Chooses the import that the description of ``execute_code`` shows as an example: models copy it, so it must work."""

import re
from collections.abc import Mapping, Sequence

from gristmill.catalog.python_names import make_python_name, make_python_names

MOST_PIECES = 18
"""How many pieces, each about a token, the example may have."""
PLACEHOLDER = "from servers.SERVER import tool"
_PIECE = re.compile(r"[A-Za-z]{1,4}|[^A-Za-z ]")
_READING = ("get", "list", "search", "find", "read", "query", "fetch", "lookup", "show")


def choose_example(servers: Mapping[str, Sequence[str]]) -> str | None:
    """Returns the import of a tool, or of a server whose tools are not known yet; None if no server is named.

    The same servers and tools, in any order, give the same text. Short names of tools that read are preferred.
    """
    if not servers:
        return None
    names = make_python_names(servers, "server")
    tools = sorted(
        (not tool.lower().startswith(_READING), len(tool), names[server], make_python_name(tool, "tool"))
        for server, listed in servers.items()
        for tool in listed
    )
    imports = (f"from servers.{module} import {function}" for _, _, module, function in tools)
    modules = (f"from servers import {module}" for module in sorted(names.values()))
    return next((text for text in (*imports, *modules) if len(_PIECE.findall(text)) <= MOST_PIECES), PLACEHOLDER)
