"""Connections that a server has ended meanwhile are not used again; those that stand are."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx2
import pytest

from gristmill.upstream.idle import ask_cheaply

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Server:
    """Answers every request, promises to keep the connection, and ends it when told to."""

    def __init__(self) -> None:
        self.connections: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.append(writer)
        while await reader.readline():
            await reader.readuntil(b"\r\n\r\n")
            writer.write(ANSWER)

    async def hang_up(self) -> None:
        for connection in self.connections:
            connection.close()
            await connection.wait_closed()


@asynccontextmanager
async def asking(server: Server) -> AsyncGenerator[httpx2.AsyncClient]:
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    async with listening, httpx2.AsyncClient(transport=ask_cheaply(httpx2.AsyncHTTPTransport()), base_url=url) as client:
        yield client
        await server.hang_up()


@pytest.mark.anyio
async def test_a_connection_that_stands_is_used_again_and_one_that_has_ended_is_not() -> None:
    server = Server()
    async with asking(server) as client:
        assert [(await client.get("/")).text for _ in range(3)] == ["ok"] * 3
        assert len(server.connections) == 1
        await server.hang_up()
        assert [(await client.get("/")).text for _ in range(3)] == ["ok"] * 3
        assert len(server.connections) == 2


@pytest.mark.anyio
async def test_connections_ask_their_sockets_themselves() -> None:
    # If the library were built otherwise, nothing would break, and this would say that nothing is gained any more.
    server = Server()
    async with asking(server) as client:
        response = await client.get("/")
        stream = response.extensions["network_stream"]
        assert "get_extra_info" in vars(stream)
        assert stream.get_extra_info("is_readable") is False
        await server.hang_up()
        assert stream.get_extra_info("is_readable") is True
