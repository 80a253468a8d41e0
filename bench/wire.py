"""The leanest HTTP client there is, and what is done with it: a few askers for a while, or a crowd at once.

What is measured with it is the service, not whoever asks.
"""

import asyncio
import json
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

Ask = Callable[[int], Awaitable[None]]
ASKERS = 16
REVISION = "2026-07-28"
CROWD_SECONDS = 120.0
"""A request of a crowd that has no answer by then has failed."""


@dataclass(frozen=True, slots=True)
class Question:
    """One request, byte for byte, and what the body of a right answer contains."""

    host: str
    port: int
    request: bytes
    right: bytes


def _post(url: str, body: Mapping[str, Any], right: bytes, **headers: str) -> Question:
    parts, data = urlsplit(url), json.dumps(body).encode()
    assert parts.hostname is not None
    assert parts.port is not None
    fields = {"Host": parts.netloc, "Content-Type": "application/json", "Content-Length": str(len(data)), **headers}
    head = [f"POST {parts.path} HTTP/1.1", *(f"{name.replace('_', '-')}: {value}" for name, value in fields.items()), "", ""]
    return Question(parts.hostname, parts.port, "\r\n".join(head).encode() + data, right)


def execute(url: str, code: str) -> Question:
    """``POST /execute`` of the service at ``url``."""
    return _post(f"{url}/execute", {"code": code}, b'"success":true')


def tool_call(url: str, tool: str, code: str, right: bytes) -> Question:
    """MCP's ``tools/call`` as one request, which the newest revision of the protocol allows; alike for every server."""
    told = {"protocolVersion": REVISION, "clientCapabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    meta = {f"io.modelcontextprotocol/{name}": value for name, value in told.items()}
    params = {"name": tool, "arguments": {"code": code}, "_meta": meta}
    return _post(
        f"{url}/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, right,
        Accept="application/json, text/event-stream", MCP_Protocol_Version=REVISION, Mcp_Method="tools/call", Mcp_Name=tool,
    )  # fmt: skip


class Connection:
    """One connection, kept alive, with one question."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self) -> bool:
        """Ask once; whether the answer was right."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._question.host, self._question.port)
        reader, writer = self._streams
        writer.write(self._question.request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        body = await reader.readexactly(int(length.split(b":")[1]))
        return head.startswith(b"HTTP/1.1 200") and self._question.right in body

    def close(self) -> None:
        """Hang up."""
        if self._streams:
            self._streams[1].close()


async def rate(ask: Ask, seconds: float) -> float:
    """How often ``ask`` returns in a second, with ``ASKERS`` asking."""
    done, end = 0, time.perf_counter() + seconds
    began = time.perf_counter()

    async def one(asker: int) -> None:
        nonlocal done
        while time.perf_counter() < end:
            await ask(asker)
            done += 1

    await asyncio.gather(*(one(asker) for asker in range(ASKERS)))
    return done / (time.perf_counter() - began)


async def rate_of(question: Question, seconds: float) -> float:
    """Answers in a second, with each asker on a connection of its own; a wrong one ends the measurement."""
    connections = [Connection(question) for _ in range(ASKERS)]

    async def ask(asker: int) -> None:
        assert await connections[asker].ask()

    try:
        return await rate(ask, seconds)
    finally:
        for connection in connections:
            connection.close()


async def crowd(question: Question, size: int) -> dict[str, Any]:
    """``size`` requests at once, each on a connection of its own: how many failed, and how long they took."""
    times: list[float] = []
    errors = 0

    async def one() -> None:
        nonlocal errors
        connection, began = Connection(question), time.perf_counter()
        try:
            async with asyncio.timeout(CROWD_SECONDS):
                errors += not await connection.ask()
        except (OSError, asyncio.IncompleteReadError):  # a TimeoutError is an OSError
            errors += 1
        times.append(time.perf_counter() - began)
        connection.close()

    await asyncio.gather(*(one() for _ in range(size)))
    cuts = statistics.quantiles(times, n=100)
    return {"requests": size, "errors": errors, "p50_s": round(cuts[49], 3), "p99_s": round(cuts[98], 3)}
