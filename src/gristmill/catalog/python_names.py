"""Turns names from servers into safe Python names: deterministic and unique, with the original name kept beside each.

Names of servers and tools also become file names (never a path), so they are ASCII; parameters may keep other letters.
"""

import builtins
import hashlib
import keyword
import re
import unicodedata
from collections.abc import Iterable
from typing import Literal

Role = Literal["server", "tool", "argument"]

MAX_LENGTH = 64

_NOT_WORD = re.compile(r"\W+")
_RESERVED: dict[Role, frozenset[str]] = {
    # `from servers.x import open` would silently replace the builtin in the agent's program.
    "server": frozenset({*dir(builtins), "servers"}),
    "tool": frozenset({*dir(builtins), "call_mcp_tool", "Any", "Literal", "Never", "NotRequired", "TypedDict", "annotations"}),
    # `id`, `type` and `filter` are fine as parameters: the generated bodies use no builtins.
    "argument": frozenset({"call_mcp_tool", "_arguments", "_extra"}),
}


def make_python_name(name: str, role: Role) -> str:
    """Returns the Python name for ``name`` alone, without regard to collisions with other names."""
    if _is_safe(name, role):
        return name
    folded = _fold_unicode(name, role)
    safe = _NOT_WORD.sub("_", folded[: 4 * MAX_LENGTH])
    # Names with two leading underscores have a meaning in Python (`__init__.py`, `__debug__`). A single leading underscore
    # is kept in arguments; in servers and tools, which become files, it would mean "private".
    safe = safe.rstrip("_") if role == "argument" and not safe.startswith("__") else safe.strip("_")
    if not safe.isidentifier():
        safe = f"{role}_{safe}"
    if not safe.isidentifier() or safe == f"{role}_":
        return f"{role}_{_hash_name(name)}"
    if keyword.iskeyword(safe) or safe in _RESERVED[role]:
        safe += "_"
    if len(safe) > MAX_LENGTH or _is_lossy(name, folded):
        return f"{safe[: MAX_LENGTH - 7].rstrip('_')}_{_hash_name(name)}"
    return safe


def make_python_names(names: Iterable[str], role: Role) -> dict[str, str]:
    """Returns a Python name for each distinct name, no two alike; the order of ``names`` does not matter.

    If several names fold to one, the name that is spelled exactly so keeps it; the others get a digest of their original.
    """
    distinct = list(dict.fromkeys(names))
    settled: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(distinct, key=lambda name: (make_python_name(name, role) != name, name)):
        settled[name] = _find_free_name(name, role, taken)
        taken.add(settled[name])
    return {name: settled[name] for name in distinct}


def _is_safe(name: str, role: Role) -> bool:
    plain = name.isidentifier() and len(name) <= MAX_LENGTH and not name.startswith("__" if role == "argument" else "_")
    return plain and not keyword.iskeyword(name) and name not in _RESERVED[role] and _fold_unicode(name, role) == name


def _find_free_name(name: str, role: Role, taken: set[str]) -> str:
    plain = make_python_name(name, role)
    if plain not in taken:
        return plain
    for length in (6, 12, 24):
        candidate = f"{plain[: MAX_LENGTH - length - 1].rstrip('_')}_{_hash_name(name, length)}"
        if candidate not in taken:
            return candidate
    # Only names built to collide in 96 bits of SHA-256 get here.
    return f"{role}_{_hash_name(name, 56)}"


def _fold_unicode(name: str, role: Role) -> str:
    # Python normalizes identifiers to NFKC; folding first makes names equal here that Python would treat as equal.
    if role == "argument":
        return unicodedata.normalize("NFKC", name)
    return unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode("ascii")


def _is_lossy(name: str, folded: str) -> bool:
    """Returns whether folding dropped letters of a foreign script (accents may go: ``café`` is ``cafe``)."""
    if name.isascii() or not folded.isascii():
        return False
    kept = sum(not unicodedata.combining(letter) for letter in unicodedata.normalize("NFKD", name))
    return kept > len(folded)


def _hash_name(name: str, length: int = 6) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:length]
