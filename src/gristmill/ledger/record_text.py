"""Prepares free text for the ledger: safe in any terminal, log or page, bounded in size, the same bytes for the same value."""

import hashlib
import json
import unicodedata
from typing import Any, cast

import msgspec

from gristmill.escape_text import escape_character
from gristmill.model import Json

_UNSAFE = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})


_FAST_ENCODER = msgspec.json.Encoder(order="sorted", enc_hook=str)
_CAREFUL_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str)


def encode_canonical(value: Json) -> str:
    """Encodes JSON with exactly one spelling per value: keys sorted, no spaces, ASCII only."""
    try:
        text = _FAST_ENCODER.encode(value)
    except (TypeError, ValueError):  # lone surrogates, keys that are not text, huge numbers
        return _CAREFUL_ENCODER.encode(value)
    return text.decode() if text.isascii() else _CAREFUL_ENCODER.encode(value)


def escape_unsafe(text: str, keep: str = "") -> str:
    """Escapes control, bidirectional, tag and line characters in ``text``, so that it stays on its line."""
    if text.isprintable():
        return text
    return "".join(char if char in keep or unicodedata.category(char) not in _UNSAFE else escape_character(char) for char in text)


def escape_unsafe_json(value: Json) -> Json:
    """Escapes unsafe characters in every text of a JSON value, keys included."""
    if isinstance(value, str):
        return escape_unsafe(value)
    if isinstance(value, dict):
        return {escape_unsafe(str(key)): escape_unsafe_json(item) for key, item in cast("dict[Any, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [escape_unsafe_json(item) for item in cast("list[Any]", value)]
    return value


def bound_json(value: Json, limit: int) -> Json:
    """Returns ``value`` with unsafe characters escaped; if it is larger than ``limit``, its size, hash and beginning instead."""
    text = encode_canonical(value)
    if len(text) <= limit:
        return escape_unsafe_json(value) if "\\" in text else value
    return {"truncated": True, "bytes": len(text), "sha256": hash_text(text), "head": text[:limit]}


def bound_text(text: str, limit: int, keep: str = "") -> str:
    """Escapes unsafe characters in ``text`` and cuts it at ``limit``, with a note about the rest."""
    if len(text) <= limit:
        return escape_unsafe(text, keep)
    return escape_unsafe(text[:limit], keep) + f"... ({len(text) - limit} characters more, sha256 {hash_text(text)})"


def hash_text(text: str) -> str:
    """Returns the hash of a text; lone surrogates are allowed."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
