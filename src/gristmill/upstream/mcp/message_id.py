"""Finds the id of a JSON-RPC message that is not parsed, from its first and last bytes. Pure."""

import re

HEAD_BYTES, TAIL_BYTES = 4_096, 256
"""How much of the front and of the end of a message is looked at."""

_ID = rb'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,64}")'
_MARK = rb'"jsonrpc"\s*:\s*"2\.0"'
# An id is believed only at the front or at the end of the message: anywhere else the digits could be part of a tool's text.
_FRONT = rb"^(?:data:)?\s*\{\s*"  # an event of a stream begins with "data:"
_ID_AT_FRONT = re.compile(_FRONT + rb"(?:" + _MARK + rb"\s*,\s*)?" + _ID + rb"\s*,")
_ID_AT_END = re.compile(rb",\s*" + _ID + rb"\s*(?:,\s*" + _MARK + rb"\s*)?\}\s*$")
_METHOD_AT_FRONT = re.compile(_FRONT + rb"(?:" + _MARK + rb"\s*,\s*)?(?:" + _ID + rb'\s*,\s*)?"method"')
_MARK_ANYWHERE = re.compile(_MARK)
_OBJECT_AT_FRONT = re.compile(_FRONT)


def looks_like_message(head: bytes, tail: bytes) -> bool:
    """Whether this is a message of any kind rather than text that the server prints."""
    return bool(_OBJECT_AT_FRONT.search(head[:HEAD_BYTES])) and _has_mark(head, tail)


def looks_like_answer(head: bytes, tail: bytes) -> bool:
    """Whether this is an answer rather than a notification, a question of the server, or text that it prints."""
    return _has_mark(head, tail) and not _METHOD_AT_FRONT.search(head[:HEAD_BYTES])


def find_message_id(head: bytes, tail: bytes) -> int | str | None:
    """Returns the id of a message of which at least the first and the last bytes are given."""
    found = _ID_AT_FRONT.search(head[:HEAD_BYTES]) or _ID_AT_END.search(tail[-TAIL_BYTES:])
    if found is None:
        return None
    return found[1][1:-1].decode(errors="replace") if found[1].startswith(b'"') else int(found[1])


def _has_mark(head: bytes, tail: bytes) -> bool:
    return bool(_MARK_ANYWHERE.search(head[:HEAD_BYTES]) or _MARK_ANYWHERE.search(tail[-TAIL_BYTES:]))
