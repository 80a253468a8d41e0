"""What a client may send besides bodies, and how long it may take: bytes on a real connection."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
import uvicorn

from gristmill.serve.http.limits.client_connection import build_protocol
from gristmill.serve.http.limits.connection_crowd import ConnectionCrowd

MOST = 4_096
HEAD = b"POST /x HTTP/1.1\r\nHost: a\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
PLAIN = HEAD + b"Content-Length: 2\r\n\r\n{}"


SECONDS = 0.3
AMBIGUOUS = {
    "a length and chunks": HEAD + b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG",
    "chunks and a length": HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\nG",
    "two lengths": HEAD + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "a list of lengths": HEAD + b"Content-Length: 2, 2\r\n\r\n{}",
    "a folded header": HEAD + b"X: a\r\n b\r\nContent-Length: 2\r\n\r\n{}",
    "a folded header with a tab": HEAD + b"X: a\r\n\tb\r\nContent-Length: 2\r\n\r\n{}",
    "a request line without CR": b"GET / HTTP/1.1\nHost: a\r\n\r\n",
    "a header without CR": b"GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n",
    "an end without CR": b"GET / HTTP/1.1\r\nHost: a\r\n\n\r\n\r\n",
    "a header without LF": b"GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n",
    "a version that does not exist": b"GET / HTTP/9.9\r\nHost: a\r\n\r\n",
    "a version of other frames": b"GET / HTTP/2.0\r\nHost: a\r\n\r\n",
    "a version without headers": b"GET / HTTP/0.9\r\nHost: a\r\n\r\n",
    "chunks of HTTP/1.0": CHUNKED.replace(b"HTTP/1.1", b"HTTP/1.0") + b"0\r\n\r\n",
    "a coding that is not known": HEAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "two codings": HEAD + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "a space before the colon": b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
    "a control character": b"GET / HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n",
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "two hosts": b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
    "a target that names a host": b"GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n",
    "a size without CR": CHUNKED + b"2\n{}\r\n0\r\n\r\n",
    "a size with a space": CHUNKED + b"2 \r\n{}\r\n0\r\n\r\n",
    "an extension with CR": CHUNKED + b"2;a\rb\r\n{}\r\n0\r\n\r\n",
    "a chunk that is longer than it says": CHUNKED + b"1\r\n{}\r\n0\r\n\r\n",
    "a trailer without CR": CHUNKED + b"0\r\nX: y\n\n\r\n\r\n",
    "a folded trailer": CHUNKED + b"0\r\nX: y\r\n z\r\n\r\n",
}


told_of_end: list[str] = []


async def app(scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]) -> None:
    """Says what it was asked; at /large it says much, and at /wait nothing until the client has gone."""
    if scope["path"] == "/large":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": bytes(20_000_000)})
        return
    if scope["path"] == "/wait":
        while (await receive())["type"] != "http.disconnect":
            pass
        told_of_end.append(scope["path"])
        return
    size, names = 0, [name.decode() for name, _ in scope["headers"]]
    while (message := await receive())["type"] == "http.request":
        size += len(message["body"])
        if not message["more_body"]:
            break
    names = names + [name.decode() for name, _ in scope["headers"][len(names) :]]
    answer = json.dumps([scope["path"], size, names]).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(answer))]})
    await send({"type": "http.response.body", "body": answer})


servers: list[uvicorn.Server] = []


def open_connections() -> int:
    """How many connections the server has."""
    return len(servers[-1].server_state.connections)


@asynccontextmanager
async def connected() -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    protocol = build_protocol(seconds=SECONDS, header_bytes=MOST, crowd=ConnectionCrowd(most=100))
    options: dict[str, Any] = {"http": protocol, "timeout_keep_alive": 20}
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, lifespan="off", **options))
    protocol.crowd.connections = server.server_state.connections
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    servers.append(server)
    try:
        yield reader, writer
    finally:
        writer.close()
        servers.remove(server)
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


@pytest.mark.requirement("T110")
@pytest.mark.parametrize("lines", AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_a_request_that_another_program_could_read_otherwise_is_refused_and_ends_the_connection(lines: bytes) -> None:
    assert asyncio.run(told(lines, PLAIN)) == [400]


@pytest.mark.requirement("T110")
@pytest.mark.parametrize("lines", AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_it_is_refused_after_the_answer_to_the_request_before_it(lines: bytes) -> None:
    assert [size for _, size, _ in asyncio.run(told(PLAIN + lines))] == [2]


@pytest.mark.requirement("T110")
def test_requests_behind_one_another_have_a_limit() -> None:
    said = asyncio.run(told(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" * 1_000))
    assert len(said) <= 1, "the first is answered, and the connection ends"


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


@pytest.mark.requirement("T113")
@pytest.mark.parametrize("more", [b"", b"Connection: close\r\n", b"Content-Length: 9\r\n"], ids=["kept", "closed", "unread"])
def test_whoever_does_not_read_the_answer_is_hung_up_on(more: bytes) -> None:
    async def until_the_end() -> None:
        async with connected() as (_, writer), asyncio.timeout(20):
            writer.write(b"GET /large HTTP/1.1\r\nHost: a\r\n" + more + b"\r\n")
            cast("asyncio.Transport", writer.transport).pause_reading()
            while not open_connections():
                await asyncio.sleep(0.01)
            while open_connections():
                await asyncio.sleep(0.01)

    asyncio.run(until_the_end())


@pytest.mark.requirement("T113")
def test_a_request_learns_that_its_client_has_gone_also_if_others_wait_behind_it() -> None:
    async def until_the_end() -> None:
        told_of_end.clear()
        async with connected() as (_, writer), asyncio.timeout(20):
            writer.write(b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n" + PLAIN)
            await writer.drain()
            while not open_connections():
                await asyncio.sleep(0.01)
            writer.transport.abort()
            while not told_of_end:
                await asyncio.sleep(0.01)

    asyncio.run(until_the_end())
    assert told_of_end == ["/wait"]


def test_whoever_has_asked_may_take_his_time_until_he_asks_again() -> None:
    async def twice() -> int:
        async with connected() as (reader, writer), asyncio.timeout(10):
            for _ in range(2):
                writer.write(PLAIN)
                await answer(reader)
                await asyncio.sleep(SECONDS * 2)
            return 2

    assert asyncio.run(twice()) == 2
