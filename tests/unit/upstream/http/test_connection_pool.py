"""Connections are used again, the last one first, closed when idle, and never more than there are lanes."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from gristmill.upstream.http import connection_pool as lanes
from gristmill.upstream.http.connection_pool import ConnectionPool

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Server:
    """Answers every request with the number of the connection that it came by."""

    def __init__(self) -> None:
        self.made = self.open = self.waiting = 0
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.keeps = True

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.made, self.open = self.made + 1, self.open + 1
        number = b"%03d" % self.made
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                self.waiting += 1
                await self.may_answer.wait()
                self.waiting -= 1
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n" + number)
                await writer.drain()
                if not self.keeps:
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.open -= 1
            writer.close()


@asynccontextmanager
async def serving() -> AsyncGenerator[tuple[Server, Callable[[], Coroutine[Any, Any, str]]]]:
    server = Server()
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"

    async with listening, httpx2.AsyncClient(transport=ConnectionPool()) as client:

        async def ask() -> str:
            return (await client.get(url)).text

        yield server, ask


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.001)


async def test_one_after_another_goes_by_one_connection() -> None:
    async with serving() as (server, ask):
        assert [await ask() for _ in range(5)] == ["001"] * 5
        assert server.made == 1


async def test_many_at_once_have_one_each_and_leave_them_for_the_next() -> None:
    async with serving() as (server, ask):
        for _ in range(3):
            server.may_answer.clear()
            asked = [asyncio.create_task(ask()) for _ in range(20)]
            await until(lambda: server.waiting == 20)
            server.may_answer.set()
            assert len(set(await asyncio.gather(*asked))) == 20
        assert server.made == 20


async def test_what_a_burst_left_is_closed_when_it_has_been_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving() as (server, ask):
        server.may_answer.clear()
        asked = [asyncio.create_task(ask()) for _ in range(20)]
        await until(lambda: server.waiting == 20)
        server.may_answer.set()
        await asyncio.gather(*asked)
        monkeypatch.setattr(lanes, "IDLE_SECONDS", 0)
        await ask()
        await until(lambda: server.open <= 1)


async def test_a_server_that_hangs_up_is_called_anew() -> None:
    async with serving() as (server, ask):
        server.keeps = False
        for number in range(1, 4):
            assert await ask() == f"{number:03}"
            await until(lambda: server.open == 0)


async def test_whoever_finds_no_lane_waits_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "MOST_CONNECTIONS", 2)
    async with serving() as (server, ask):
        server.may_answer.clear()
        asked = [asyncio.create_task(ask()) for _ in range(3)]
        await until(lambda: server.waiting == 2)
        for _ in range(20):
            await asyncio.sleep(0)
        assert server.made == 2
        server.may_answer.set()
        assert sorted(await asyncio.gather(*asked))[0] == "001"
        assert server.made == 2


async def test_a_wait_for_a_lane_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "MOST_CONNECTIONS", 1)
    transport = ConnectionPool()
    async with httpx2.AsyncClient(transport=transport, timeout=httpx2.Timeout(10, pool=0.01)) as client:
        await transport._free.acquire()  # pyright: ignore[reportPrivateUsage] - somebody is on it
        with pytest.raises(httpx2.PoolTimeout, match="under way already"):
            await client.get("http://127.0.0.1:9/")


async def test_what_cannot_be_sent_at_all_takes_no_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "MOST_CONNECTIONS", 1)
    async with httpx2.AsyncClient(transport=ConnectionPool(), timeout=1) as client:
        for _ in range(2):
            with pytest.raises(httpx2.UnsupportedProtocol, match="neither http nor https"):
                await client.get("ftp://127.0.0.1/")


async def test_who_gives_up_leaves_his_lane_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "MOST_CONNECTIONS", 1)
    async with serving() as (server, ask):
        server.may_answer.clear()
        asked = asyncio.create_task(ask())
        await until(lambda: server.waiting == 1)
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        server.may_answer.set()
        assert await ask() == "002"


async def test_closing_ends_also_what_is_half_read() -> None:
    async with serving() as (server, ask):
        server.may_answer.clear()
        asked = asyncio.create_task(ask())
        await until(lambda: server.waiting == 1)
    server.may_answer.set()  # what it says now is heard by nobody
    await until(lambda: server.open == 0)
    await asyncio.gather(asked, return_exceptions=True)
