"""The client for an event loop. A request that is repeated because its answer was lost runs once: every execution has a key."""

import asyncio
import json
import os
import random
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal

import httpx2 as httpx

from gristmill.config.foreign_variables import find_service_url
from gristmill.errors import Error, NotFound, UpstreamUnavailable
from gristmill.http_client.async_chat import AsyncChat
from gristmill.http_client.decode_answers import decode_error, decode_outcome
from gristmill.http_client.quote_paths import build_file_route, quote_part
from gristmill.model import Json, Outcome

DEFAULT_URL = "http://127.0.0.1:8030"
RETRY_STATUSES = frozenset({429, 502, 503, 504})
MAX_WAIT_SECONDS = 30.0
SILENT_SECONDS = 60.0
"""How long at least a stream may be silent: the service gives a sign of life every few seconds."""
_TRANSPORT_ERRORS = (httpx.TransportError,)


class _RetryLater(Exception):
    """The event stream is not available now; ``seconds`` is how long the service asks to wait."""

    def __init__(self, error: Error, seconds: float) -> None:
        super().__init__(error.message)
        self.error, self.seconds = error, seconds


class AsyncClient:
    """The asynchronous client: ``async with AsyncClient(url, token=...) as client: outcome = await client.execute("6 * 7")``."""

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        timeout: float = 120.0,
        retries: int = 4,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Prepares a client for the service at ``url``, or else at GRISTMILL_URL or MCP_CODE_EXECUTOR_URL of the environment.

        Without any of them it is ``DEFAULT_URL``, the service on this machine. ``retries`` is how often a request is sent again
        if it was lost or the service was busy.
        """
        url = url or find_service_url(os.environ, DEFAULT_URL)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._client = httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout, transport=transport)
        self._retries = retries
        self.chat = AsyncChat(self)
        """The chat of the service."""

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.aclose()

    async def execute(self, code: str | None = None, *, idempotency_key: str | None = None, **options: Any) -> Outcome:
        """Executes ``code``; ``options`` are the fields of ``POST /execute``. A lost answer is fetched again; the code runs once.

        Raises:
            Error: the same errors as the library; ``UpstreamUnavailable`` if the service cannot be reached.
        """
        return decode_outcome(await self._post_execution(code, idempotency_key, {**options, "background": False}))

    async def start(self, code: str | None = None, *, idempotency_key: str | None = None, **options: Any) -> str:
        """Starts to execute ``code`` and returns the execution's id once it is on record."""
        return str(json.loads(await self._post_execution(code, idempotency_key, {**options, "background": True}))["id"])

    async def stream(self, code: str | None = None, **options: Any) -> AsyncGenerator[dict[str, Any]]:
        """Executes ``code`` and yields events as they happen, the ``outcome`` last."""
        async for event in self.events(await self.start(code, **options)):
            yield event

    async def events(self, execution: str, *, after: int = 0) -> AsyncGenerator[dict[str, Any]]:
        """Yields the past and future events of an execution to its end; after a lost connection continues where it broke.

        Raises:
            NotFound: the execution is not known, or no longer known.
        """
        tries = 0
        while True:
            reason: Exception | None = None
            seconds = 0.0
            try:
                async for number, event in self._read_events(execution, after):
                    after, tries = number, 0
                    yield event
                    if event["type"] in ("outcome", "problem"):
                        return
            except _TRANSPORT_ERRORS as error:
                reason = error
            except _RetryLater as later:
                reason, seconds = later.error, later.seconds
            tries += 1
            await self._wait_before_retry(tries, reason, seconds)

    async def execution(self, execution: str) -> dict[str, Any]:
        """Returns the state of an execution, or how it ended."""
        return await self.get(f"/executions/{quote_part(execution)}")

    async def wait(self, execution: str) -> Outcome:
        """Waits for the end of an execution that was started and returns its outcome."""
        try:
            async for event in self.events(execution):
                if event["type"] == "outcome":
                    return decode_outcome(event["outcome"])
                if event["type"] == "problem":
                    raise decode_error(500, json.dumps(event["problem"]).encode())
        except NotFound:
            # Its events are gone with the process that ran it, or have expired; its outcome is on record for longer.
            if (outcome := (await self.execution(execution)).get("outcome")) is None:
                raise
            return decode_outcome(outcome)
        raise UpstreamUnavailable("the stream of events ended without an outcome")

    async def cancel(self, execution: str) -> None:
        """Ends an execution that is under way."""
        await self.request("DELETE", f"/executions/{quote_part(execution)}")

    async def revert(self, execution: str) -> Outcome:
        """Undoes what an execution wrote, as `policy.revert` says; its calls wait for approval, then ``execute(resume=...)``."""
        return decode_outcome(await self.request("POST", f"/executions/{quote_part(execution)}/revert", again=False, json={}))

    async def search(self, query: str, *, detail_level: str = "full", limit: int = 5) -> dict[str, Any]:
        """Returns the best tools for ``query``."""
        return await self.get("/tools/search", query=query, detail_level=detail_level, limit=limit)

    async def upload(self, session: str, path: str, content: bytes) -> dict[str, Any]:
        """Puts a file into a session's workspace."""
        return json.loads(await self.request("PUT", build_file_route(session, path), content=content))

    async def download(self, session: str, path: str) -> bytes:
        """Returns a file of a session's workspace."""
        return await self.request("GET", build_file_route(session, path))

    async def approvals(self) -> list[dict[str, Any]]:
        """Returns the plans that wait for a person's decision."""
        return await self.get("/approvals")

    async def decide(self, approval: str, approve: Literal["all", "none"] | Sequence[int]) -> dict[str, Any]:
        """Decides about a plan: approves all of its calls, none, or those with the given numbers."""
        asked = {"approve": approve if isinstance(approve, str) else list(approve)}
        return json.loads(await self.request("POST", f"/approvals/{quote_part(approval)}", json=asked))

    async def send_feedback(
        self, id: str, *, thumb: Literal["up", "down"] | None = None, complaint: bool = False, accuracy: float | None = None,  # noqa: A002
        comment: str = "",
    ) -> None:  # fmt: skip
        """Says something about an execution, a turn or a conversation that is part of a rollout; a later word replaces it."""
        asked = {"id": id, "thumb": thumb, "complaint": complaint, "accuracy": accuracy, "comment": comment}
        await self.request("POST", "/feedback", json=asked)

    async def get(self, path: str, **query: Any) -> Any:
        """Reads any route and returns its JSON."""
        return json.loads(await self.request("GET", path, params=query))

    async def request(self, method: str, path: str, *, again: bool = True, **options: Any) -> bytes:
        """Sends a request to any route. ``again`` says that it is safe to send it twice.

        Raises:
            Error: the error that the service reports, as the library would raise it.
        """
        tries = 0
        while True:
            tries += 1
            try:
                answer = await self._client.request(method, path, **options)
            except _TRANSPORT_ERRORS as error:
                if not again:
                    raise _make_unreachable_error(error) from None
                await self._wait_before_retry(tries, error)
                continue
            if answer.status_code < 400:
                return answer.content
            after = _parse_retry_after(answer.headers.get("retry-after", ""))
            error = decode_error(answer.status_code, answer.content, after)
            if answer.status_code not in RETRY_STATUSES or not again:
                raise error
            await self._wait_before_retry(tries, error, after)

    async def read_stream(self, method: str, path: str, **options: Any) -> AsyncGenerator[dict[str, Any]]:
        """Sends a request to a route that answers with events, and yields them. It is sent once.

        Raises:
            Error: the error that the service reports, as the library would raise it.
        """
        usual = self._client.timeout
        read = None if usual.read is None else max(usual.read, SILENT_SECONDS)
        patient = httpx.Timeout(connect=usual.connect, read=read, write=usual.write, pool=usual.pool)
        try:
            async with self._client.stream(method, path, timeout=patient, **options) as answer:
                if answer.status_code != 200:
                    after = _parse_retry_after(answer.headers.get("retry-after", ""))
                    raise decode_error(answer.status_code, await answer.aread(), after)
                async for line in _read_lines(answer):
                    if line.startswith(b"data: "):
                        yield json.loads(line[6:])
        except _TRANSPORT_ERRORS as error:
            raise _make_unreachable_error(error) from None

    async def _post_execution(self, code: str | None, key: str | None, options: Mapping[str, Json]) -> bytes:
        asked = {name: value for name, value in {"code": code, **options}.items() if value is not None}
        return await self.request("POST", "/execute", json=asked, headers={"Idempotency-Key": key or uuid.uuid4().hex})

    async def _read_events(self, execution: str, after: int) -> AsyncGenerator[tuple[int, dict[str, Any]]]:
        headers = {"Last-Event-ID": str(after)}
        number = after
        async with self._client.stream("GET", f"/executions/{quote_part(execution)}/events", headers=headers) as answer:
            if answer.status_code != 200:
                seconds = _parse_retry_after(answer.headers.get("retry-after", ""))
                error = decode_error(answer.status_code, await answer.aread(), seconds)
                raise _RetryLater(error, seconds) if answer.status_code in RETRY_STATUSES else error
            async for line in _read_lines(answer):
                name, _, value = line.partition(b": ")
                if name == b"id":
                    number = int(value)
                elif name == b"data":
                    yield number, json.loads(value)

    async def _wait_before_retry(self, tries: int, reason: Exception | None, seconds: float = 0.0) -> None:
        if tries > self._retries:
            raise reason if isinstance(reason, Error) else _make_unreachable_error(reason)
        # A random factor, so that clients that were refused together do not return together.
        await asyncio.sleep(min(MAX_WAIT_SECONDS, max(seconds, 0.1 * 2**tries)) * random.uniform(0.8, 1.2))  # noqa: S311 - no secret


def _parse_retry_after(text: str) -> float:
    """Returns how long to wait; a proxy may send a date instead, which counts as 0, because waits grow by themselves."""
    return float(text) if text.isascii() and text.isdigit() else 0.0


async def _read_lines(answer: httpx.Response) -> AsyncGenerator[bytes]:
    """Yields lines as the event protocol defines them: text may contain characters that Python treats as line ends."""
    rest = b""
    async for chunk in answer.aiter_bytes():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line.removesuffix(b"\r")


def _make_unreachable_error(error: Exception | None) -> UpstreamUnavailable:
    return UpstreamUnavailable(f"the service does not answer: {type(error).__name__ if error else 'the stream ended'}")
