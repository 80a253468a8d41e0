"""Writes the server instructions: what to do, and the name of each tool server with a word that says what it is for.

They depend on the configuration alone, so they are the same bytes before the first listing and after it: a client's prompt cache
stays valid. The word comes from the name, the command or the package of the server, never from what it lists.
"""

import re
from collections.abc import Mapping, Sequence

from gristmill.harmless_text import neutralize_text

LEAD = "Tools live on these servers; find them with search_tools, call them from Python in execute_code:"
TOKEN_BUDGET = 120
"""Estimated tokens for all names. Servers beyond the budget are shortened alike, and counted if even that is too much."""

_PIECE = re.compile(r"[A-Za-z]+|\s|.")


def write_instructions(servers: Mapping[str, Sequence[str]]) -> str:
    """Returns the instructions for ``servers``: a mapping from the name of a server to words that say what it is for."""
    names = sorted(servers)
    if not names:
        return "No tool servers are connected; execute_code runs plain Python."
    for entries in (_describe_servers(servers, names), [neutralize_text(name) for name in names]):
        line = ", ".join(entries)
        if estimate_tokens(line) <= TOKEN_BUDGET:
            return f"{LEAD} {line}"
    return f"{LEAD} {_shorten_fairly([neutralize_text(name) for name in names])}"


def estimate_tokens(text: str) -> int:
    """Estimates the tokens of ``text``, rather too many than too few. The exact counter takes a tenth of a second to load, too
    long for the start."""
    return sum(-(-len(piece) // 4) if piece.isalpha() and piece.isascii() else 1 for piece in _PIECE.findall(text))


def _describe_servers(servers: Mapping[str, Sequence[str]], names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        word = next((neutralize_text(word)[:40] for word in servers[name] if word and word.lower() not in name.lower()), "")
        found.append(f"{neutralize_text(name)} ({word})" if word else neutralize_text(name))
    return found


def _shorten_fairly(names: Sequence[str]) -> str:
    """Returns names from the whole alphabet, evenly spread, with the number of those that are left out."""
    for kept in range(len(names), 0, -1):
        chosen = [names[place * len(names) // kept] for place in range(kept)]
        line = ", ".join(chosen) + (f" and {len(names) - kept} more" if kept < len(names) else "")
        if estimate_tokens(line) <= TOKEN_BUDGET:
            return line
    return f"{len(names)} servers"
