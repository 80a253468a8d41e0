"""Names from strangers → safe Python names: deterministic, unique, the original always kept beside them.

Servers and tools become file names as well (never a path), so theirs are ASCII; parameters may keep other letters.
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


def python_name(name: str, role: Role) -> str:
    """The Python name for ``name`` on its own; `python_names` settles collisions."""
    if _is_safe(name, role):
        return name
    folded = _fold(name, role)
    safe = _NOT_WORD.sub("_", folded[: 4 * MAX_LENGTH])
    # Dunders mean something to Python (`__init__.py`, `__debug__`); a single underscore is private only in files.
    safe = safe.rstrip("_") if role == "argument" and not safe.startswith("__") else safe.strip("_")
    if not safe.isidentifier():
        safe = f"{role}_{safe}"
    if not safe.isidentifier() or safe == f"{role}_":
        return f"{role}_{_digest(name)}"
    if keyword.iskeyword(safe) or safe in _RESERVED[role]:
        safe += "_"
    if len(safe) > MAX_LENGTH or _lossy(name, folded):
        return f"{safe[: MAX_LENGTH - 7].rstrip('_')}_{_digest(name)}"
    return safe


def python_names(names: Iterable[str], role: Role) -> dict[str, str]:
    """Each distinct name with its Python name, no two alike; the result does not depend on the order of ``names``.

    Of names that fold to one, the one spelt exactly so keeps it, the others carry a digest of their original.
    """
    distinct = list(dict.fromkeys(names))
    settled: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(distinct, key=lambda name: (python_name(name, role) != name, name)):
        settled[name] = _free(name, role, taken)
        taken.add(settled[name])
    return {name: settled[name] for name in distinct}


def _is_safe(name: str, role: Role) -> bool:
    plain = name.isidentifier() and len(name) <= MAX_LENGTH and not name.startswith("__" if role == "argument" else "_")
    return plain and not keyword.iskeyword(name) and name not in _RESERVED[role] and _fold(name, role) == name


def _free(name: str, role: Role, taken: set[str]) -> str:
    plain = python_name(name, role)
    if plain not in taken:
        return plain
    for length in (6, 12, 24):
        candidate = f"{plain[: MAX_LENGTH - length - 1].rstrip('_')}_{_digest(name, length)}"
        if candidate not in taken:
            return candidate
    # Only a table built to collide with 96 bits of SHA-256 gets here.
    return f"{role}_{_digest(name, 56)}"


def _fold(name: str, role: Role) -> str:
    # Python reads identifiers in NFKC; folding first makes names equal here that would be equal there.
    if role == "argument":
        return unicodedata.normalize("NFKC", name)
    return unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode("ascii")


def _lossy(name: str, folded: str) -> bool:
    """Whether folding dropped letters of a foreign script (accents may go: ``café`` is ``cafe``)."""
    if name.isascii() or not folded.isascii():
        return False
    kept = sum(not unicodedata.combining(letter) for letter in unicodedata.normalize("NFKD", name))
    return kept > len(folded)


def _digest(name: str, length: int = 6) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:length]
