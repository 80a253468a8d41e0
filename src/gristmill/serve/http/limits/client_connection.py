"""The protocol of one client's connection: requests are parsed strictly, and each phase of a connection has a time limit.

llhttp (by httptools) parses: it refuses what another program could read in another way, such as two lengths of one body, folded
headers and lines without CR. h11 accepts those.
"""

import asyncio
import json
import logging
from typing import Any, cast

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from gristmill.serve.http.json_logs import log_event
from gristmill.serve.http.limits.client_transport import ClientTransport
from gristmill.serve.http.limits.connection_crowd import ConnectionCrowd

PIPELINED_MOST = 64
"""Requests that a client may send before the first of them is answered."""
LINGER_BYTES = 64_000_000
"""Bytes that are read and dropped after a request was refused."""
VERSIONS = ("1.0", "1.1")


class MalformedRequest(Exception):
    """A request that the parser accepts and we do not. Its text is shown to the client."""


class ClientConnection(HttpToolsProtocol):
    """One connection.

    Its time limits: ``seconds`` for the head of a request, and as much for a client to take a part of its answer. The routes
    limit the time of bodies, and uvicorn that of idle connections.
    """

    seconds = 20.0
    header_bytes = 32_768
    crowd = ConnectionCrowd(most=4_096)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._timer: asyncio.TimerHandle | None = None
        self._running: RequestResponseCycle | None = None
        self._is_in_head = self._is_in_body = False
        self._keeps_alive = True
        self._is_ending = self._is_refused = self._is_upgraded = self._is_passing_over = False
        self._counted = 0
        """Bytes of the current head; in a chunked body, bytes since the last part of the body itself."""
        self._is_counted_anew = False
        self._dropped = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Starts the timer of the first request."""
        self._outer = ClientTransport(transport, self.loop, is_receiving=self._is_receiving, seconds=self.seconds)
        super().connection_made(cast("asyncio.Transport", self._outer))
        self._start_timer()
        self.crowd.add_waiting(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops the timers and tells the request that is being answered."""
        self._stop_timer()
        self._unset_keepalive_if_required()
        self.crowd.remove_waiting(self)
        self.pipeline.clear()
        running = self._running
        if running is not None and running is not self.cycle:
            running.disconnected = True
            running.message_event.set()
        super().connection_lost(exc)
        self._outer.stop_timer()

    def data_received(self, data: bytes) -> None:
        """Parses what arrived: each head alone, as far as it is there and not too large, and the rest as it is."""
        if self._is_refused or self.transport.is_closing():
            self._drop(data)
            return
        self._unset_keepalive_if_required()
        while data and not (self._is_refused or self._is_upgraded or self.transport.is_closing()):
            part = data if self._is_in_body else data[: self._find_head_end(data)]
            data = self._feed(part) + data[len(part) :]
        self._update_timer()

    def on_message_begin(self) -> None:
        """Begins a request."""
        if self._is_passing_over:
            return
        self._is_in_head = True
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Adds a part of the target."""
        if not self._is_passing_over:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Adds a header, without the spaces around its value. What follows a body is not one."""
        if self._is_in_head and not self._is_passing_over:
            super().on_header(name, value.strip(b" \t"))

    def on_headers_complete(self) -> None:
        """Checks the head and begins to answer."""
        if self._is_passing_over:
            return
        self._check_head()
        if len(self.pipeline) >= PIPELINED_MOST:
            raise MalformedRequest(f"more than {PIPELINED_MOST} requests were sent before an answer")
        self._is_in_head, self._is_in_body = False, True
        self._count_anew()
        super().on_headers_complete()
        if self.parser.should_upgrade() and self._should_upgrade():
            return
        # Until the body has arrived: an answer that is sent earlier refuses the rest, and closes the connection.
        self._keeps_alive, self.cycle.keep_alive = self.cycle.keep_alive, False

    def on_body(self, body: bytes) -> None:
        """Passes a part of the body on."""
        self._count_anew()
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Ends the request."""
        if self._is_passing_over or (self.parser.should_upgrade() and not self._should_upgrade() and self._has_body()):
            return  # llhttp expects no body after the offer of another protocol; _pass_over_offer reads it
        self._is_in_body = False
        self._count_anew()
        if self.parser.should_upgrade() and self._should_upgrade():
            return
        if not self.cycle.response_started:
            self.cycle.keep_alive = self._keeps_alive and not self._is_ending
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Begins with the next request, or waits for it."""
        self._running = None
        super().on_response_complete()
        if self._running is None:
            self.crowd.add_waiting(self)
        self._update_timer()

    def shutdown(self) -> None:
        """Ends the connection after the current answer."""
        self._is_ending = True
        super().shutdown()

    def pause_writing(self) -> None:
        """Gives the client a limited time to take its answer."""
        super().pause_writing()
        self._outer.watch_progress()

    def resume_writing(self) -> None:
        """Stops that time."""
        super().resume_writing()
        if not self._outer.is_closing():
            self._outer.stop_timer()

    def handle_websocket_upgrade(self) -> None:
        """Hands the connection over to the protocol of WebSockets."""
        self._stop_timer()
        self.crowd.remove_waiting(self)
        self._is_upgraded, self._is_in_head, self._is_in_body = True, False, False
        super().handle_websocket_upgrade()

    def evict(self) -> None:
        """Ends the connection, because others need its place; no request of it is being answered."""
        self.connections.discard(self)
        self._outer.end()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        self.crowd.remove_waiting(self)
        super()._start_asgi_task(cycle, app)

    def _find_head_end(self, data: bytes) -> int:
        end, room = data.find(b"\r\n\r\n"), max(1, self.header_bytes - self._counted)
        return room if end < 0 else min(end + 4, room)

    def _feed(self, part: bytes) -> bytes:
        """Parses ``part``; returns what must be parsed anew."""
        self._is_counted_anew = False
        try:
            self.parser.feed_data(part)
        except httptools.HttpParserUpgrade as upgrade:
            if self._should_upgrade():
                self.handle_websocket_upgrade()
                return b""
            self._pass_over_offer()
            return part[upgrade.args[0] :]
        except httptools.HttpParserError as error:
            self._refuse(str(error.__context__ if isinstance(error.__context__, MalformedRequest) else error))
            return b""
        self._counted += 0 if self._is_counted_anew else len(part)
        if self._counted >= self.header_bytes:
            where = "between the parts of the body" if self._is_in_body else "in the head"
            self._refuse(f"more than {self.header_bytes:,} bytes {where}")
        return b""

    def _count_anew(self) -> None:
        self._counted, self._is_counted_anew = 0, True

    def _check_head(self) -> None:
        version, names = self.parser.get_http_version(), [name for name, _ in self.headers]
        if version not in VERSIONS:
            raise MalformedRequest(f"HTTP/{version} is not spoken here: use HTTP/1.1")
        if version == "1.0" and b"transfer-encoding" in names:
            raise MalformedRequest("HTTP/1.0 has no Transfer-Encoding")
        if names.count(b"host") != 1 and (version == "1.1" or b"host" in names):
            raise MalformedRequest("send exactly one Host header")
        if not self.url.startswith(b"/") or b"#" in self.url:
            raise MalformedRequest("the target must be a path")

    def _has_body(self) -> bool:
        return any(name == b"transfer-encoding" or (name == b"content-length" and value != b"0") for name, value in self.headers)

    def _pass_over_offer(self) -> None:
        """Goes on with a request that offered another protocol than WebSockets, as if it had not."""
        self.parser = httptools.HttpRequestParser(self)
        if self._has_body():
            length = [b"%s: %s\r\n" % pair for pair in self.headers if pair[0] in (b"transfer-encoding", b"content-length")]
            self._is_passing_over = True
            self.parser.feed_data(b"POST / HTTP/1.1\r\n" + b"".join(length) + b"\r\n")
            self._is_passing_over = False

    def _refuse(self, reason: str) -> None:
        """Answers that the request is malformed, after the answers to earlier requests, and closes the connection."""
        log_event("malformed request", level=logging.INFO, reason=reason)
        self.pipeline.clear()
        self._is_refused = True
        running = self._running
        if running is not None and not (self._is_in_body and self.cycle is running):
            running.keep_alive = False  # a later request is malformed: this one is still answered
            return
        if running is not None:
            running.disconnected = True
            running.message_event.set()
        if running is None or not running.response_started:
            self._send_refusal(reason)
        self.transport.close()

    def _send_refusal(self, reason: str) -> None:
        problem = {"code": "request", "message": f"this is not valid HTTP/1.1: {reason}"}
        body = json.dumps(problem).encode()
        head = b"content-type: application/problem+json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body)
        self.transport.write(STATUS_LINE[400] + head + body)

    def _is_receiving(self) -> bool:
        return self._is_in_head or self._is_in_body or self._is_refused

    def _drop(self, data: bytes) -> None:
        self._dropped += len(data)
        if self._dropped > LINGER_BYTES:
            self._outer.abort()

    def _update_timer(self) -> None:
        if self._running is not None or self._is_in_body or not (self._is_in_head or self._counted):
            self._stop_timer()
        elif self._timer is None:
            self._start_timer()

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(self.seconds, self._close_if_open)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close_if_open(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.close()


def build_protocol(*, seconds: float, header_bytes: int, crowd: ConnectionCrowd) -> type[ClientConnection]:
    """Returns the protocol with these limits; uvicorn makes one of it for each connection."""
    return type("LimitedConnection", (ClientConnection,), {"seconds": seconds, "header_bytes": header_bytes, "crowd": crowd})
