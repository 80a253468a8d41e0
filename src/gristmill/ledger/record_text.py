"""Free text as the ledger keeps it: harmless in any terminal, log or page, of bounded size, always the same bytes."""

import hashlib
import json
import unicodedata
from typing import Any, cast

import msgspec

from gristmill.model import Json

_UNSAFE = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})


_QUICK = msgspec.json.Encoder(order="sorted", enc_hook=str)
_CAREFUL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str)


def canonical(value: Json) -> str:
    """JSON with one spelling for one value: keys sorted, no spaces, ASCII only."""
    try:
        text = _QUICK.encode(value)
    except (TypeError, ValueError):  # half characters, keys that are no text, huge numbers
        return _CAREFUL.encode(value)
    return text.decode() if text.isascii() else _CAREFUL.encode(value)


def plain(text: str, keep: str = "") -> str:
    """``text`` with control, bidirectional, tag and line characters made visible, so that it stays on its line."""
    if text.isprintable():
        return text
    return "".join(char if char in keep or unicodedata.category(char) not in _UNSAFE else _name(char) for char in text)


def plain_json(value: Json) -> Json:
    """The same for every text in a JSON value, keys included."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict):
        return {plain(str(key)): plain_json(item) for key, item in cast("dict[Any, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [plain_json(item) for item in cast("list[Any]", value)]
    return value


def bounded_json(value: Json, limit: int) -> Json:
    """``value``, or where it is larger than ``limit`` its size, its hash and its beginning."""
    text = canonical(value)
    if len(text) <= limit:
        return plain_json(value) if "\\" in text else value
    return {"truncated": True, "bytes": len(text), "sha256": sha256(text), "head": text[:limit]}


def bounded(text: str, limit: int, keep: str = "") -> str:
    """``text`` made plain, cut at ``limit`` with a word about what is missing."""
    if len(text) <= limit:
        return plain(text, keep)
    return plain(text[:limit], keep) + f"... ({len(text) - limit} characters more, sha256 {sha256(text)})"


def sha256(text: str) -> str:
    """The hash of a text, whatever is in it."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _name(char: str) -> str:
    return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"
