"""The client for an event loop. Whatever is asked twice because an answer was lost is done once: every execution has a key."""

import asyncio
import json
import random
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal
from urllib.parse import quote

import httpx2 as httpx

from gristmill.errors import Error, NotFound, Refused, UpstreamUnavailable
from gristmill.http_client.decode_answers import error_of, outcome_of
from gristmill.model import Json, Outcome

URL = "http://127.0.0.1:8030"
AGAIN = frozenset({429, 502, 503, 504})
LONGEST_WAIT = 30.0
_FAILED = (httpx.TransportError,)


class _Later(Exception):
    """A stream that cannot be had now."""

    def __init__(self, error: Error, seconds: float) -> None:
        super().__init__(error.message)
        self.error, self.seconds = error, seconds


class AsyncClient:
    """``async with AsyncClient(url, token=...) as client: outcome = await client.execute("6 * 7")``."""

    def __init__(
        self,
        url: str = URL,
        *,
        token: str | None = None,
        timeout: float = 120.0,
        retries: int = 4,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """``retries`` is how often a request is sent again when it was lost or the service was busy."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._client = httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout, transport=transport)
        self._retries = retries

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """End the connections."""
        await self._client.aclose()

    async def execute(self, code: str | None = None, *, idempotency_key: str | None = None, **options: Any) -> Outcome:
        """Execute ``code``; ``options`` are the fields of ``POST /execute``. A lost answer is asked for again, not done again.

        Raises:
            Error: as the library would; ``UpstreamUnavailable`` when the service cannot be reached.
        """
        return outcome_of(await self._execute(code, idempotency_key, {**options, "background": False}))

    async def start(self, code: str | None = None, *, idempotency_key: str | None = None, **options: Any) -> str:
        """Begin to execute ``code``; its id, once it is on record."""
        return str(json.loads(await self._execute(code, idempotency_key, {**options, "background": True}))["id"])

    async def stream(self, code: str | None = None, **options: Any) -> AsyncGenerator[dict[str, Any]]:
        """Execute ``code``; what happens as it happens, and last the ``outcome``."""
        async for event in self.events(await self.start(code, **options)):
            yield event

    async def events(self, execution: str, *, after: int = 0) -> AsyncGenerator[dict[str, Any]]:
        """What was and is heard of an execution, to its end; a lost connection is taken up where it broke.

        Raises:
            NotFound: it is not known, or no longer.
        """
        tries = 0
        while True:
            reason: Exception | None = None
            seconds = 0.0
            try:
                async for number, event in self._events(execution, after):
                    after, tries = number, 0
                    yield event
                    if event["type"] in ("outcome", "problem"):
                        return
            except _FAILED as error:
                reason = error
            except _Later as later:
                reason, seconds = later.error, later.seconds
            tries += 1
            await self._wait(tries, reason, seconds)

    async def execution(self, execution: str) -> dict[str, Any]:
        """How an execution is, or how it ended."""
        return await self.get(f"/executions/{_part(execution)}")

    async def wait(self, execution: str) -> Outcome:
        """The outcome of an execution that was started, when it has ended."""
        try:
            async for event in self.events(execution):
                if event["type"] == "outcome":
                    return outcome_of(event["outcome"])
                if event["type"] == "problem":
                    raise error_of(500, json.dumps(event["problem"]).encode())
        except NotFound:
            # Its events went with the process that ran it, or with time; what came of it is on record for longer.
            if (outcome := (await self.execution(execution)).get("outcome")) is None:
                raise
            return outcome_of(outcome)
        raise UpstreamUnavailable("the stream of events ended without an outcome")

    async def cancel(self, execution: str) -> None:
        """End an execution that is under way."""
        await self.request("DELETE", f"/executions/{_part(execution)}")

    async def search(self, query: str, *, detail_level: str = "full", limit: int = 5) -> dict[str, Any]:
        """The best tools for ``query``."""
        return await self.get("/tools/search", query=query, detail_level=detail_level, limit=limit)

    async def upload(self, session: str, path: str, content: bytes) -> dict[str, Any]:
        """Put a file into a session's workspace."""
        return json.loads(await self.request("PUT", _file(session, path), content=content))

    async def download(self, session: str, path: str) -> bytes:
        """A file of a session's workspace."""
        return await self.request("GET", _file(session, path))

    async def approvals(self) -> list[dict[str, Any]]:
        """Plans that wait for a person."""
        return await self.get("/approvals")

    async def decide(self, approval: str, approve: Literal["all", "none"] | Sequence[int]) -> dict[str, Any]:
        """Decide about a plan."""
        asked = {"approve": approve if isinstance(approve, str) else list(approve)}
        return json.loads(await self.request("POST", f"/approvals/{_part(approval)}", json=asked))

    async def get(self, path: str, **query: Any) -> Any:
        """Any route that is read, as JSON."""
        return json.loads(await self.request("GET", path, params=query))

    async def request(self, method: str, path: str, *, again: bool = True, **options: Any) -> bytes:
        """Any route. ``again`` says that sending it twice does no harm.

        Raises:
            Error: what the service says is wrong, as the library would raise it.
        """
        tries = 0
        while True:
            tries += 1
            try:
                answer = await self._client.request(method, path, **options)
            except _FAILED as error:
                if not again:
                    raise _unreachable(error) from None
                await self._wait(tries, error)
                continue
            if answer.status_code < 400:
                return answer.content
            after = _seconds(answer.headers.get("retry-after", ""))
            error = error_of(answer.status_code, answer.content, after)
            if answer.status_code not in AGAIN or not again:
                raise error
            await self._wait(tries, error, after)

    async def _execute(self, code: str | None, key: str | None, options: Mapping[str, Json]) -> bytes:
        asked = {name: value for name, value in {"code": code, **options}.items() if value is not None}
        return await self.request("POST", "/execute", json=asked, headers={"Idempotency-Key": key or uuid.uuid4().hex})

    async def _events(self, execution: str, after: int) -> AsyncGenerator[tuple[int, dict[str, Any]]]:
        headers = {"Last-Event-ID": str(after)}
        number = after
        async with self._client.stream("GET", f"/executions/{_part(execution)}/events", headers=headers) as answer:
            if answer.status_code != 200:
                seconds = _seconds(answer.headers.get("retry-after", ""))
                error = error_of(answer.status_code, await answer.aread(), seconds)
                raise _Later(error, seconds) if answer.status_code in AGAIN else error
            async for line in _lines(answer):
                name, _, value = line.partition(b": ")
                if name == b"id":
                    number = int(value)
                elif name == b"data":
                    yield number, json.loads(value)

    async def _wait(self, tries: int, reason: Exception | None, seconds: float = 0.0) -> None:
        if tries > self._retries:
            raise reason if isinstance(reason, Error) else _unreachable(reason)
        # Apart by chance, so that those who were turned away together do not come back together.
        await asyncio.sleep(min(LONGEST_WAIT, max(seconds, 0.1 * 2**tries)) * random.uniform(0.8, 1.2))  # noqa: S311 - no secret


def _seconds(text: str) -> float:
    """How long to wait; a proxy may name a date instead, which is as good as nothing: waits grow by themselves."""
    return float(text) if text.isascii() and text.isdigit() else 0.0


def _part(text: str) -> str:
    if text in ("", ".", ".."):
        raise Refused(f"{text!r} is no name", rule="client.path")  # in an address it would lead elsewhere
    return quote(text, safe="")


def _file(session: str, path: str) -> str:
    return f"/sessions/{_part(session)}/files/{'/'.join(_part(part) for part in path.split('/'))}"


async def _lines(answer: httpx.Response) -> AsyncGenerator[bytes]:
    """Lines as the protocol of events has them: text may hold characters that Python takes for ends of lines."""
    rest = b""
    async for chunk in answer.aiter_bytes():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line.removesuffix(b"\r")


def _unreachable(error: Exception | None) -> UpstreamUnavailable:
    return UpstreamUnavailable(f"the service does not answer: {type(error).__name__ if error else 'the stream ended'}")
