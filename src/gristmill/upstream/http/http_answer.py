"""What comes back for one HTTP request: the head, then the body as it arrives, parsed in C."""

import asyncio
from collections.abc import AsyncIterator, Callable

import httptools
import httpx2

HEAD_BYTES = 100_000
"""What may come without a byte of the body: a head, the heads before it that only ask for patience, or trailers."""
HELD_BYTES = 256_000
"""What may wait for its reader before the server is held back."""


class Answer(httpx2.AsyncByteStream):
    """The answer to one request. ``connection`` is told to wait while its reader is slow; ``closed`` when he is done with it."""

    def __init__(
        self, request: httpx2.Request, connection: asyncio.Transport, closed: Callable[["Answer"], None], seconds: float | None
    ) -> None:
        self._is_head_only = request.method == "HEAD"
        self._connection, self._closed, self._seconds = connection, closed, seconds
        self._parser = httptools.HttpResponseParser(self)
        self._status, self._reason, self._headers = 0, b"", list[tuple[bytes, bytes]]()
        self._parts: list[bytes] = []
        self._held = self._bodiless = 0
        self._is_done = False
        self._problem: httpx2.TransportError | None = None
        self._reader: asyncio.Future[None] | None = None
        self.leaves_clean = False
        """It has come to its end, and the connection can be used again."""

    async def head(self) -> httpx2.Response:
        """The response, once its head is there; the body follows.

        Raises:
            httpx2.TransportError: it is not to be had.
        """
        while not self._status:
            await self._more()
        extensions = {"http_version": f"HTTP/{self._parser.get_http_version()}".encode(), "reason_phrase": self._reason}
        return httpx2.Response(self._status, headers=self._headers, stream=self, extensions=extensions)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            if self._parts:
                part, self._parts, self._held = b"".join(self._parts), [], 0
                self._connection.resume_reading()
                yield part
            elif self._is_done:
                return
            else:
                await self._more()

    async def aclose(self) -> None:
        """The reader has had enough."""
        self._closed(self)

    def feed(self, arrived: bytes) -> None:
        """More of it has arrived."""
        self._bodiless += len(arrived)
        try:
            self._parser.feed_data(arrived)
        except httptools.HttpParserUpgrade:
            self._fail(httpx2.RemoteProtocolError("the server changed to another protocol"))
        except httptools.HttpParserError as error:
            self._fail(httpx2.RemoteProtocolError(f"what the server says is not HTTP: {error}"))
        if self._bodiless > HEAD_BYTES:
            self._fail(httpx2.RemoteProtocolError(f"the head of the answer is larger than {HEAD_BYTES} bytes"))
        self._wake()

    def cut(self, error: Exception | None) -> None:
        """Nothing more will arrive."""
        if not self._status:
            self._fail(httpx2.RemoteProtocolError("the server hung up without an answer"))
        elif error is None and not any(name.lower() in (b"content-length", b"transfer-encoding") for name, _ in self._headers):
            self._is_done = True  # such a body ends with its connection
        else:
            self._fail(httpx2.ReadError("the server hung up in the middle of its answer"))
        self._wake()

    def on_message_begin(self) -> None:
        """A head begins: the one, another after one that only asked for patience, or one that nobody asked for."""
        self.leaves_clean = False

    def on_status(self, reason: bytes) -> None:
        """The words behind its number."""
        if not self._status:
            self._reason += reason

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; one behind the body says nothing that anybody here listens to."""
        if not self._status:
            self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        """The head is there, unless it only asks for patience."""
        status = self._parser.get_status_code()
        if status < 200:
            self._reason = b""
            self._headers.clear()
        elif not self._status:
            self._status, self._is_done = status, self._is_head_only

    def on_body(self, part: bytes) -> None:
        """Some of the body; behind its end comes nothing that was asked for."""
        if self._is_done:
            return
        self._bodiless = 0
        self._parts.append(part)
        self._held += len(part)
        if self._held > HELD_BYTES:
            self._connection.pause_reading()

    def on_message_complete(self) -> None:
        """The end."""
        if self._status:
            self.leaves_clean = not self._is_done and self._parser.should_keep_alive()
            self._is_done = True

    async def _more(self) -> None:
        """Wait until there is news."""
        if self._problem is not None:
            raise self._problem
        loop = asyncio.get_running_loop()
        self._reader = loop.create_future()
        timer = loop.call_later(self._seconds, self._give_up) if self._seconds is not None else None
        try:
            await self._reader
        finally:
            self._reader = None
            if timer is not None:
                timer.cancel()

    def _give_up(self) -> None:
        self._fail(httpx2.ReadTimeout(f"the server has said nothing for {self._seconds:g} s"))
        self._wake()

    def _fail(self, problem: httpx2.TransportError) -> None:
        if not self._is_done:
            self._problem = self._problem or problem
        self.leaves_clean = False

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)
