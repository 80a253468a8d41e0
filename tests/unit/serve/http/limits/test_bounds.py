"""What a client may send besides bodies, and how long it may take: bytes on a real connection."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn

from gristmill.serve.http.limits.client_transport import TimedProtocol

MOST = 4_096
HEAD = b"POST /x HTTP/1.1\r\nHost: a\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
PLAIN = HEAD + b"Content-Length: 2\r\n\r\n{}"


class Bounded(TimedProtocol):
    header_seconds = 0.3


async def app(scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]) -> None:
    """Says what it was asked."""
    size, names = 0, [name.decode() for name, _ in scope["headers"]]
    while (message := await receive())["type"] == "http.request":
        size += len(message["body"])
        if not message["more_body"]:
            break
    names = names + [name.decode() for name, _ in scope["headers"][len(names) :]]
    answer = json.dumps([scope["path"], size, names]).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(answer))]})
    await send({"type": "http.response.body", "body": answer})


@asynccontextmanager
async def connected() -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    options: dict[str, Any] = {"http": Bounded, "h11_max_incomplete_event_size": MOST, "timeout_keep_alive": 20}
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, lifespan="off", **options))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()
        server.should_exit = True
        await serving


async def answer(reader: asyncio.StreamReader) -> Any:
    """The next one: what it says if it is well, else its status."""
    head = await reader.readuntil(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        await reader.read()
        return int(head.split()[1])
    return json.loads(await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])))


async def answers(reader: asyncio.StreamReader, found: list[Any]) -> None:
    """All of them, until a quiet moment or the end."""
    try:
        while True:
            async with asyncio.timeout(0.3 if found else 10):
                found.append(await answer(reader))
    except (TimeoutError, asyncio.IncompleteReadError, ConnectionError):
        pass


async def told(*parts: bytes) -> list[Any]:
    """What is answered to these parts, each sent when the one before was surely read."""
    async with connected() as (reader, writer):
        found: list[Any] = []
        listening = asyncio.create_task(answers(reader, found))
        try:
            for part in parts:
                if 400 in found:
                    break  # who goes on writing to somebody who has hung up may lose what was answered
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(0.02)
        except ConnectionError:
            pass  # they have heard enough
        await listening
        return found


MUCH = b"a" * (MOST + 100)
ENDLESS = {
    "a method": [MUCH],
    "a target": [b"GET /" + MUCH],
    "the name of a header": [HEAD + MUCH],
    "a header": [HEAD + b"A: " + MUCH],
    "a head that is whole and too large": [HEAD + b"A: " + MUCH + b"\r\n\r\n"],
    "a header in small parts": [HEAD + b"A: ", *[b"a" * 500] * 12],
    "headers": [HEAD + b"A: b\r\n" * MOST],
    "headers in small parts": [HEAD, *[b"A: bcdefgh\r\n" * 40] * 16],
    "empty lines": [b"\r\n" * MOST],
    "what may stand beside the size of a chunk": [CHUNKED + b"1;" + MUCH],
    "the size of a chunk": [CHUNKED + b"0" * len(MUCH)],
    "trailers": [CHUNKED + b"0\r\n" + b"A: b\r\n" * MOST],
    "a trailer in small parts": [CHUNKED + b"0\r\nA: ", *[b"a" * 500] * 12],
}


@pytest.mark.requirement("T44")
@pytest.mark.parametrize("parts", ENDLESS.values(), ids=ENDLESS)
def test_what_is_no_body_has_an_end(parts: list[bytes]) -> None:
    assert asyncio.run(told(*parts)) == [400]


@pytest.mark.requirement("T44")
def test_a_request_may_come_in_pieces_and_a_body_may_be_large() -> None:
    large = bytes(MOST * 20)
    sized = HEAD + b"Content-Length: %d\r\n\r\n" % len(large)
    chunked = CHUNKED + b"".join(b"%x\r\n%s\r\n" % (1_000, bytes(1_000)) for _ in range(20)) + b"0\r\n\r\n"
    said = asyncio.run(told(sized[:9], sized[9:30], sized[30:] + large, chunked, PLAIN))
    assert [size for _, size, _ in said] == [len(large), 20_000, 2]


@pytest.mark.requirement("T44")
def test_requests_behind_one_another_are_answered_in_turn_and_each_may_be_as_large_as_one() -> None:
    each = b"GET /%d HTTP/1.1\r\nHost: a\r\nA: " + b"a" * (MOST - 200) + b"\r\n\r\n"
    said = asyncio.run(told(b"".join(each % number for number in range(9))))
    assert [path for path, _, _ in said] == [f"/{number}" for number in range(9)]


@pytest.mark.requirement("T44")
def test_a_protocol_that_is_only_offered_is_passed_over() -> None:
    offer = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n"
    asked = HEAD + offer + b"Content-Length: 2\r\n\r\n{}"
    assert [size for _, size, _ in asyncio.run(told(asked, PLAIN, asked))] == [2, 2, 2]


@pytest.mark.requirement("T44")
def test_what_follows_a_body_is_no_header() -> None:
    late = b"\r\n0\r\nOrigin: http://evil.example\r\n\r\n"
    ((_, size, names),) = asyncio.run(told(CHUNKED + b"2\r\n{}" + late))
    assert (size, names) == (2, ["host", "transfer-encoding"])


@pytest.mark.requirement("T44")
@pytest.mark.parametrize("begun", [b"", b"G", b"GET / HTTP/1.1\r\nHost: a\r\nA", PLAIN + b"GET /"], ids=["nothing", "a byte", "a head", "a next one"])  # fmt: skip
def test_whoever_does_not_go_on_with_a_head_is_hung_up_on(begun: bytes) -> None:
    async def until_the_end() -> bytes:
        async with connected() as (reader, writer), asyncio.timeout(10):
            writer.write(begun)
            return await reader.read()

    assert asyncio.run(until_the_end()).count(b"HTTP/1.1 200") == begun.count(b"{}")


@pytest.mark.requirement("T44")
def test_whoever_begins_to_ask_again_has_no_more_time_than_the_first_time() -> None:
    async def until_the_end() -> bytes:
        async with connected() as (reader, writer), asyncio.timeout(10):
            writer.write(PLAIN)
            await answer(reader)
            writer.write(b"GET /")
            return await reader.read()

    assert asyncio.run(until_the_end()) == b""


def test_whoever_has_asked_may_take_his_time_until_he_asks_again() -> None:
    async def twice() -> int:
        async with connected() as (reader, writer), asyncio.timeout(10):
            for _ in range(2):
                writer.write(PLAIN)
                await answer(reader)
                await asyncio.sleep(Bounded.header_seconds * 2)
            return 2

    assert asyncio.run(twice()) == 2
