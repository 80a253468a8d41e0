"""A server on this machine that speaks OpenAI's and Anthropic's protocols and answers from a script, streamed and whole."""

import json
import socket
import sys
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Condition, Thread
from types import TracebackType
from typing import Any

from gristmill.testing.model_answers import ModelAnswer, ModelFailure, ModelRequest, ModelScript, answer_in_order, estimate_tokens
from gristmill.testing.model_wires import WIRES

MOST_BODY_BYTES = 64_000_000
IDLE_SECONDS = 60.0
"""How long a connection may say nothing."""


class ModelServer(AbstractContextManager["ModelServer"]):
    """A model for tests: ``with ModelServer([ModelAnswer("hello")]) as model: ...`` serves at ``model.url``.

    Clients of OpenAI take ``model.openai_url`` as their base URL, clients of Anthropic ``model.url``. Any key is accepted.
    Like the real services it refuses calls of tools without results, results without calls, and with ``context_tokens``
    conversations that are longer (a token is four characters). Without a ``port`` it takes a free one.
    """

    def __init__(
        self, script: ModelScript | Sequence[ModelAnswer | ModelFailure], *, context_tokens: int | None = None, port: int = 0
    ) -> None:
        self.script: ModelScript = script if callable(script) else answer_in_order(script)
        self.context_tokens, self._port = context_tokens, port
        self.requests: list[ModelRequest] = []
        """Every request for an answer, in the order of arrival."""
        self.abandoned: list[ModelRequest] = []
        """The requests whose client left before it had the whole answer."""
        self.changed = Condition()  # protects both lists, and wakes the threads that wait for them
        self.numbers = count(1)
        self._http: _ModelHttpServer | None = None
        self._thread: Thread | None = None

    def __enter__(self) -> "ModelServer":
        self._http = _ModelHttpServer(self, self._port)
        self._thread = Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._http is not None
        assert self._thread is not None
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(10)

    @property
    def url(self) -> str:
        """Returns the base URL for clients of Anthropic."""
        if self._http is None:
            raise RuntimeError("enter the server first: `with ModelServer(...) as model:`")
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def openai_url(self) -> str:
        """Returns the base URL for clients of OpenAI."""
        return f"{self.url}/v1"

    def wait_for_requests(self, number: int, seconds: float = 30.0) -> None:
        """Waits until that many requests have arrived.

        Raises:
            TimeoutError: they did not arrive in time.
        """
        self._wait(lambda: len(self.requests) >= number, f"{number} requests", seconds)

    def wait_for_abandoned(self, number: int, seconds: float = 30.0) -> None:
        """Waits until that many clients have left before the end of their answers.

        Raises:
            TimeoutError: they did not leave in time.
        """
        self._wait(lambda: len(self.abandoned) >= number, f"{number} clients that left", seconds)

    def _wait(self, is_true: Any, what: str, seconds: float) -> None:
        with self.changed:
            if not self.changed.wait_for(is_true, seconds):
                raise TimeoutError(f"there were not {what} within {seconds:g} s")


class _ModelHttpServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # an answer may be paused for good
    request_queue_size = 512

    def __init__(self, model: ModelServer, port: int) -> None:
        super().__init__(("127.0.0.1", port), _ModelHandler)
        self.model = model

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing about a client that left; other errors are shown as usual."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _ModelHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    disable_nagle_algorithm = True
    server: _ModelHttpServer  # pyright: ignore[reportIncompatibleVariableOverride] - only that server makes this handler

    def do_POST(self) -> None:
        """Answers a request for a completion or a message."""
        size = int(self.headers.get("content-length") or 0)
        if size > MOST_BODY_BYTES:
            self.close_connection = True
            return self._send_json(413, {"error": {"message": "the request is too large"}})
        body: dict[str, Any] = json.loads(self.rfile.read(size) or b"{}")
        key = self.headers.get("x-api-key") or self.headers.get("authorization", "").removeprefix("Bearer ")
        match self.path.partition("?")[0]:
            case "/v1/chat/completions":
                self._answer(WIRES["openai"].read_request(body, key))
            case "/v1/messages":
                self._answer(WIRES["anthropic"].read_request(body, key))
            case path:
                self._send_json(404, {"error": {"message": f"no such route: {path}", "type": "invalid_request_error"}})
        return None

    def do_GET(self) -> None:
        """Lists one model, which clients of OpenAI may ask for."""
        model = {"id": "scripted", "object": "model", "created": 0, "owned_by": "gristmill"}
        self._send_json(200, {"object": "list", "data": [model]})

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the signature of the standard library
        """Writes no log."""

    def _answer(self, request: ModelRequest) -> None:
        model = self.server.model
        with model.changed:
            model.requests.append(request)
            number = next(model.numbers)
            model.changed.notify_all()
        try:
            match self._find_refusal(request) or model.script(request):
                case ModelFailure() as failure:
                    self._send_failure(request, failure, number)
                case answer if request.stream:
                    self._send_stream(request, answer, number)
                case answer:
                    self._send_whole(request, answer, number)
        except OSError:
            self.close_connection = True
            with model.changed:
                model.abandoned.append(request)
                model.changed.notify_all()

    def _find_refusal(self, request: ModelRequest) -> ModelFailure | None:
        wire, most = WIRES[request.wire], self.server.model.context_tokens
        if problem := wire.find_problem(request):
            return ModelFailure(400, problem)
        if most is not None and (tokens := estimate_tokens(request)) > most:
            return wire.describe_overflow(tokens, most)
        return None

    def _send_failure(self, request: ModelRequest, failure: ModelFailure, number: int) -> None:
        wire = WIRES[request.wire]
        headers = wire.write_headers(number, is_limited=failure.status == 429)
        if failure.retry_after is not None:
            headers["retry-after"] = f"{failure.retry_after:g}"
        self._send_json(failure.status, wire.write_failure(failure, number), headers)

    def _send_whole(self, request: ModelRequest, answer: ModelAnswer, number: int) -> None:
        if answer.pause is not None:
            answer.pause()
        if answer.break_at is not None:
            return self._cut_connection()
        self._check_client()
        wire = WIRES[request.wire]
        return self._send_json(200, wire.write_answer(request, answer, number), wire.write_headers(number, is_limited=False))

    def _send_stream(self, request: ModelRequest, answer: ModelAnswer, number: int) -> None:
        wire = WIRES[request.wire]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        for name, text in wire.write_headers(number, is_limited=False).items():
            self.send_header(name, text)
        self.end_headers()
        for text in self._pause_or_break(wire.stream_answer(request, answer, number), answer):
            if text is None and answer.break_with is None:
                return self._cut_connection()
            self._check_client()
            self._send_chunk(text or wire.stream_failure(answer.break_with or ModelFailure(500), number))
            if text is None:
                break
        self.wfile.write(b"0\r\n\r\n")
        return None

    def _send_chunk(self, text: str) -> None:
        chunk = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        self.wfile.flush()

    def _pause_or_break(self, events: Generator[str], answer: ModelAnswer) -> Generator[str | None]:
        for place, event in enumerate(events):
            if answer.pause is not None and place == answer.pause_at:
                answer.pause()
            yield None if place == answer.break_at else event

    def _check_client(self) -> None:
        """Raises if the client has closed its side: what is written then would vanish without an error for a while."""
        self.connection.setblocking(False)
        try:
            if self.connection.recv(1, socket.MSG_PEEK) == b"":
                raise ConnectionResetError("the client left")
        except BlockingIOError:
            pass
        finally:
            self.connection.settimeout(IDLE_SECONDS)

    def _cut_connection(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _send_json(self, status: int, value: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)
