"""Splits the bytes that a server sends into lines, with a cap on each. Pure: stdio/ reads pipes, http/ reads event streams."""

from collections.abc import Iterator

from msgspec import Struct

from gristmill.upstream.mcp.message_id import HEAD_BYTES, TAIL_BYTES, find_message_id, looks_like_answer, looks_like_message


class LineTooLong(Struct, frozen=True, kw_only=True):
    """A line longer than the cap. Its bytes are dropped; ``id`` is the id of the request that it answers, if it was found."""

    id: int | str | None
    size: int
    is_message: bool
    """Whether it is a message rather than text that the server prints."""
    is_answer: bool
    """Whether it is the answer to a request, even if the id was not found."""


class LineSplitter:
    """Splits chunks into lines. Holds at most ``cap`` bytes."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._parts: list[bytes] = []
        self._size = 0
        self._head = b""
        self._tail = b""

    @property
    def pending_bytes(self) -> int:
        """Returns the size of the line that has not ended yet, in bytes."""
        return self._size

    def feed(self, chunk: bytes) -> Iterator[bytes | LineTooLong]:
        """Yields the lines that ``chunk`` completes."""
        first, *rest = chunk.split(b"\n")
        self._add_piece(first)
        for piece in rest:
            yield self._take_line()
            self._add_piece(piece)

    def _add_piece(self, piece: bytes) -> None:
        if not piece:
            return
        self._size += len(piece)
        if self._size <= self._cap:
            self._parts.append(piece)
            return
        if self._parts:
            whole = b"".join(self._parts)
            self._parts.clear()
            self._head, self._tail = whole[:HEAD_BYTES], whole[-TAIL_BYTES:]
        self._head = self._head or piece[:HEAD_BYTES]
        self._tail = (self._tail + piece)[-TAIL_BYTES:]

    def _take_line(self) -> bytes | LineTooLong:
        size, self._size = self._size, 0
        if size <= self._cap:
            line = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
            self._parts.clear()
            return line
        head, tail = self._head, self._tail
        self._head = self._tail = b""
        is_answer = looks_like_answer(head, tail)
        request_id = find_message_id(head, tail) if is_answer else None
        return LineTooLong(id=request_id, size=size, is_message=looks_like_message(head, tail), is_answer=is_answer)
