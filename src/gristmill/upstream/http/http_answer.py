"""The answer to one HTTP request: the head, then the body as it arrives. A parser in C reads it."""

import asyncio
from collections.abc import AsyncIterator, Callable

import httptools
import httpx2

HEAD_BYTES = 100_000
"""How many bytes may come without a byte of the body: a head, preliminary heads (status 1xx) before it, or trailers."""
HELD_BYTES = 256_000
"""How many bytes may wait for their reader before reading from the connection is paused."""


class HttpAnswer(httpx2.AsyncByteStream):
    """The answer to one request.

    Reading from ``connection`` is paused while the reader is slow; ``closed`` is called when the reader has finished.
    """

    def __init__(
        self,
        request: httpx2.Request,
        connection: asyncio.Transport,
        closed: Callable[["HttpAnswer"], None],
        seconds: float | None,
    ) -> None:
        self._is_head_only = request.method == "HEAD"
        self._connection, self._closed, self._seconds = connection, closed, seconds
        self._parser = httptools.HttpResponseParser(self)
        self._status, self._reason, self._headers = 0, b"", list[tuple[bytes, bytes]]()
        self._parts: list[bytes] = []
        self._held = self._since_body = 0
        self._is_done = False
        self._problem: httpx2.TransportError | None = None
        self._reader: asyncio.Future[None] | None = None
        self.can_reuse_connection = False
        """Whether the answer is complete and the connection can be used again."""

    async def wait_for_head(self) -> httpx2.Response:
        """Waits for the head and returns the response; the body follows.

        Raises:
            httpx2.TransportError: the connection failed before the head was complete.
        """
        while not self._status:
            await self._wait_for_more()
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
                await self._wait_for_more()

    async def aclose(self) -> None:
        """Reports that the reader has finished with the answer."""
        self._closed(self)

    def feed(self, arrived: bytes) -> None:
        """Parses bytes that have arrived."""
        self._since_body += len(arrived)
        try:
            self._parser.feed_data(arrived)
        except httptools.HttpParserUpgrade:
            self._record_problem(httpx2.RemoteProtocolError("the server changed to another protocol"))
        except httptools.HttpParserError as error:
            self._record_problem(httpx2.RemoteProtocolError(f"what the server says is not HTTP: {error}"))
        if self._since_body > HEAD_BYTES:
            self._record_problem(httpx2.RemoteProtocolError(f"the head of the answer is larger than {HEAD_BYTES} bytes"))
        self._wake_reader()

    def record_end(self, error: Exception | None) -> None:
        """Records that the connection has ended and no more bytes will arrive."""
        if not self._status:
            self._record_problem(httpx2.RemoteProtocolError("the server hung up without an answer"))
        elif error is None and not any(name.lower() in (b"content-length", b"transfer-encoding") for name, _ in self._headers):
            self._is_done = True  # a body without a declared length ends with its connection
        else:
            self._record_problem(httpx2.ReadError("the server hung up in the middle of its answer"))
        self._wake_reader()

    def on_message_begin(self) -> None:
        """Notes that a head begins: the first, one after a preliminary head, or one of an answer that was not requested."""
        self.can_reuse_connection = False

    def on_status(self, reason: bytes) -> None:
        """Collects the text after the status number."""
        if not self._status:
            self._reason += reason

    def on_header(self, name: bytes, value: bytes) -> None:
        """Collects a header; trailers, which come after the body, are ignored."""
        if not self._status:
            self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Takes over the head, or drops it if it is a preliminary one (status 1xx)."""
        status = self._parser.get_status_code()
        if status < 200:
            self._reason = b""
            self._headers.clear()
        elif not self._status:
            self._status, self._is_done = status, self._is_head_only

    def on_body(self, part: bytes) -> None:
        """Collects a part of the body; bytes after the end of the answer are ignored."""
        if self._is_done:
            return
        self._since_body = 0
        self._parts.append(part)
        self._held += len(part)
        if self._held > HELD_BYTES:
            self._connection.pause_reading()

    def on_message_complete(self) -> None:
        """Records that the answer is complete."""
        if self._status:
            self.can_reuse_connection = not self._is_done and self._parser.should_keep_alive()
            self._is_done = True

    async def _wait_for_more(self) -> None:
        """Waits until something has arrived, or raises the recorded problem."""
        if self._problem is not None:
            raise self._problem
        loop = asyncio.get_running_loop()
        self._reader = loop.create_future()
        timer = loop.call_later(self._seconds, self._fail_by_timeout) if self._seconds is not None else None
        try:
            await self._reader
        finally:
            self._reader = None
            if timer is not None:
                timer.cancel()

    def _fail_by_timeout(self) -> None:
        self._record_problem(httpx2.ReadTimeout(f"the server has said nothing for {self._seconds:g} s"))
        self._wake_reader()

    def _record_problem(self, problem: httpx2.TransportError) -> None:
        if not self._is_done:
            self._problem = self._problem or problem
        self.can_reuse_connection = False

    def _wake_reader(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)
