"""Bytes from a server's standard output become lines, with a cap on each. Pure; the pipe is read elsewhere."""

import re
from collections.abc import Iterator

from gristmill.values import dataclass

_HEAD = 4_096
_TAIL = 256
# An answer's id is either right at the front or right at the end, depending on the SDK that wrote it; anywhere else the
# digits could be part of a tool's text.
_ID_AT_FRONT = re.compile(rb'^\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d+|"[^"\\]{1,64}")\s*,')
_ID_AT_END = re.compile(rb',\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d+|"[^"\\]{1,64}")\s*\}\s*$')


@dataclass(frozen=True, slots=True, kw_only=True)
class TooLong:
    """A line past the cap; its bytes are gone, its id may be known."""

    id: int | str | None
    size: int


class Lines:
    """Splits chunks into lines. Holds at most ``cap`` bytes."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._parts: list[bytes] = []
        self._size = 0
        self._head = b""
        self._tail = b""

    @property
    def pending(self) -> int:
        """Bytes of the line that has not ended yet."""
        return self._size

    def feed(self, chunk: bytes) -> Iterator[bytes | TooLong]:
        """The lines that ``chunk`` completes."""
        first, *rest = chunk.split(b"\n")
        self._add(first)
        for piece in rest:
            yield self._take()
            self._add(piece)

    def _add(self, piece: bytes) -> None:
        if not piece:
            return
        self._size += len(piece)
        if self._size <= self._cap:
            self._parts.append(piece)
            return
        if self._parts:
            whole = b"".join(self._parts)
            self._parts.clear()
            self._head, self._tail = whole[:_HEAD], whole[-_TAIL:]
        self._head = self._head or piece[:_HEAD]
        self._tail = (self._tail + piece)[-_TAIL:]

    def _take(self) -> bytes | TooLong:
        size, self._size = self._size, 0
        if size <= self._cap:
            line = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
            self._parts.clear()
            return line
        found = _ID_AT_FRONT.search(self._head) or _ID_AT_END.search(self._tail)
        self._head = self._tail = b""
        return TooLong(id=_id(found[1]) if found else None, size=size)


def _id(text: bytes) -> int | str:
    return text[1:-1].decode(errors="replace") if text.startswith(b'"') else int(text)
