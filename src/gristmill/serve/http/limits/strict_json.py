"""Decodes JSON that strangers sent, strictly: a key that stands twice in an object means one thing to us and another to a
program that checked the request before us."""

import asyncio
import json
from typing import Any

import msgspec

from gristmill.errors import Refused

LARGE = 65_536
"""A body of more bytes is checked in a thread, so that other requests are answered meanwhile."""


async def decode_body(body: bytes | str) -> Any:
    """Returns the value of ``body`` as ``decode_strictly`` does."""
    return decode_strictly(body) if len(body) < LARGE else await asyncio.to_thread(decode_strictly, body)


async def check_keys(body: bytes) -> None:
    """Checks the keys of a body that another part decodes, and which may be no JSON.

    Raises:
        Refused: an object has the same key twice.
    """
    try:
        await asyncio.to_thread(_refuse_repeated_keys, body) if len(body) >= LARGE else _refuse_repeated_keys(body)
    except (ValueError, RecursionError):
        pass  # it is not JSON: the part that decodes it says so


def decode_strictly(body: bytes | str) -> Any:
    """Returns the value of ``body``. There may be no NaN, no lone surrogates, no unlimited nesting, and no repeated keys.

    Raises:
        msgspec.DecodeError: it is not JSON.
        RecursionError: it is nested too deeply.
        Refused: an object has the same key twice.
    """
    value = msgspec.json.decode(body)
    _refuse_repeated_keys(body)
    return value


def _refuse_repeated_keys(body: bytes | str) -> None:
    # Numbers are left as text: only the keys matter, and an integer of a million digits would take long to convert.
    json.loads(body, object_pairs_hook=_check_keys, parse_int=str, parse_float=str)


def _check_keys(pairs: list[tuple[str, Any]]) -> None:
    if len(pairs) > 1 and len({key for key, _ in pairs}) < len(pairs):
        seen: set[str] = set()
        key = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise Refused(f"the key {key[:80]!r} stands twice in one object: send it once", rule="http.repeated_key")
