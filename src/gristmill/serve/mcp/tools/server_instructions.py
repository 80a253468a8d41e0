"""Writes the server instructions: what to do, and one short line per tool server. The same configuration gives the same bytes.

They are made once, from the names in the configuration and the tools last listed, so that a client's prompt cache stays valid.
"""

import re
from collections.abc import Mapping, Sequence

from gristmill.serve.harmless_text import neutralize_text

LEAD = "Tools live on these servers; find them with search_tools, call them from Python in execute_code:"
TOKEN_BUDGET = 120
"""Estimated tokens for all lines. Each server gets an equal share to name some of its tools; servers beyond the budget are only
counted."""

_PIECE = re.compile(r"[A-Za-z]+|\s|.")


def write_instructions(servers: Mapping[str, Sequence[str]]) -> str:
    """Returns the instructions for ``servers``: a mapping from the name of a server to its last known tools."""
    names = sorted(servers)
    if not names:
        return "No tool servers are connected; execute_code runs plain Python."
    share = TOKEN_BUDGET // len(names)
    lines: list[str] = []
    left = TOKEN_BUDGET - estimate_tokens("and 999 more")
    for place, name in enumerate(names):
        line = _write_line(neutralize_text(name), sorted(servers[name]), share)
        left -= estimate_tokens(line) + 1
        if left < 0:
            lines.append(f"and {len(names) - place} more")
            break
        lines.append(line)
    return "\n".join((LEAD, *lines))


def estimate_tokens(text: str) -> int:
    """Estimates the tokens of ``text``, rather too many than too few. The exact counter takes a tenth of a second to load, too
    long for the start."""
    return sum(-(-len(piece) // 4) if piece.isalpha() and piece.isascii() else 1 for piece in _PIECE.findall(text))


def _write_line(name: str, tools: Sequence[str], share: int) -> str:
    """Returns a line such as ``github: create_issue, get_file, ...`` with as many tool names as fit into the share."""
    room = share - estimate_tokens(name) - 3
    shown: list[str] = []
    for tool in map(neutralize_text, tools):
        room -= estimate_tokens(tool) + 1
        if room < 0:
            break
        shown.append(tool)
    more = ", ..." if shown and len(shown) < len(tools) else ""
    return f"{name}: {', '.join(shown)}{more}" if shown else name
