"""The server instructions: what to do, and one short line per tool server. The same bytes for the same configuration.

They are made once, from the names in the configuration and the tools last listed, so a client's prompt cache holds.
"""

import re
from collections.abc import Mapping, Sequence

from gristmill.serve.harmless_text import harmless

LEAD = "Tools live on these servers; find them with search_tools, call them from Python in execute_code:"
BUDGET = 120
"""Tokens for all lines, by our estimate. Each server gets an equal share for a hint of what it does; the rest is folded."""

_PIECE = re.compile(r"[A-Za-z]+|\s|.")


def instructions(servers: Mapping[str, Sequence[str]]) -> str:
    """The text for ``servers``: their names, each with the tools last known."""
    names = sorted(servers)
    if not names:
        return "No tool servers are connected; execute_code runs plain Python."
    share = BUDGET // len(names)
    lines: list[str] = []
    left = BUDGET - cost("and 999 more")
    for place, name in enumerate(names):
        line = _line(harmless(name), sorted(servers[name]), share)
        left -= cost(line) + 1
        if left < 0:
            lines.append(f"and {len(names) - place} more")
            break
        lines.append(line)
    return "\n".join((LEAD, *lines))


def cost(text: str) -> int:
    """About how many tokens ``text`` is, rather too many. The real counter takes a tenth of a second to load: not at start."""
    return sum(-(-len(piece) // 4) if piece.isalpha() and piece.isascii() else 1 for piece in _PIECE.findall(text))


def _line(name: str, tools: Sequence[str], share: int) -> str:
    """``github: create_issue, get_file, ...``: as many tool names as fit the share."""
    room = share - cost(name) - 3
    shown: list[str] = []
    for tool in map(harmless, tools):
        room -= cost(tool) + 1
        if room < 0:
            break
        shown.append(tool)
    more = ", ..." if shown and len(shown) < len(tools) else ""
    return f"{name}: {', '.join(shown)}{more}" if shown else name
