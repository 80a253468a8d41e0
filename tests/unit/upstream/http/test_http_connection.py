"""One connection speaks HTTP/1.1 with servers of every kind, also those that do not quite."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from gristmill.upstream.http import http_answer as answers
from gristmill.upstream.http import http_connection as wire
from gristmill.upstream.http.connection_pool import ConnectionPool

pytestmark = pytest.mark.anyio

PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def client_of(serve: Serve, secure: ssl.SSLContext | None = None, read: float = 10) -> AsyncGenerator[httpx2.AsyncClient]:
    """A client of a server that does as ``serve`` says on each connection."""

    async def whole(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(whole, "127.0.0.1", 0, ssl=secure)
    url = f"http{'s' if secure else ''}://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    async with (
        listening,
        httpx2.AsyncClient(transport=ConnectionPool(), base_url=url, timeout=httpx2.Timeout(10, read=read)) as client,
    ):
        yield client


def says(*parts: bytes) -> Serve:
    """After each head it reads, the next part; then it hangs up."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for part in parts:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(part)
            await writer.drain()

    return serve


@pytest.mark.parametrize(
    ("said", "status", "body"),
    [
        (PLAIN, 200, b"ok"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\nContent-Type: a/b\r\n\r\n",
            200,
            b"abc",
        ),
        (b"HTTP/1.1 200 OK\r\n\r\nuntil the end", 200, b"until the end"),
        (b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nold", 200, b"old"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + PLAIN, 200, b"ok"),
        # What Apache offers with every answer over plain HTTP.
        (
            b"HTTP/1.1 200 OK\r\nUpgrade: h2,h2c\r\nConnection: Upgrade, Keep-Alive\r\nContent-Length: 5\r\n\r\noffer",
            200,
            b"offer",
        ),
        (b"HTTP/1.1 404 Gone Fishing\r\nContent-Length: 0\r\n\r\n", 404, b""),
    ],
)
async def test_an_answer_of_each_form_is_read(said: bytes, status: int, body: bytes) -> None:
    async with client_of(says(said)) as client:
        answer = await client.get("/")
        assert (answer.status_code, answer.content) == (status, body)
        assert "link" not in answer.headers
        assert "a/b" not in answer.headers.get("content-type", "")


async def test_an_answer_may_come_a_byte_at_a_time() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for byte in b"HTTP/1.1 200 Fine With Me\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n":
            writer.write(bytes([byte]))
            await writer.drain()

    async with client_of(serve) as client:
        answer = await client.get("/")
        assert (answer.text, answer.reason_phrase, answer.http_version) == ("abc", "Fine With Me", "HTTP/1.1")


async def test_the_answer_to_head_has_no_body_whatever_it_announces() -> None:
    async with client_of(says(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n")) as client:
        assert (await client.head("/")).headers["content-length"] == "900"


@pytest.mark.parametrize(
    ("said", "problem", "words"),
    [
        (b"", httpx2.RemoteProtocolError, "hung up without an answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Le", httpx2.RemoteProtocolError, "hung up without an answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", httpx2.ReadError, "in the middle"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", httpx2.ReadError, "in the middle"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", httpx2.RemoteProtocolError, "not HTTP"),
        (
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
            httpx2.RemoteProtocolError,
            "protocol",
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", httpx2.RemoteProtocolError, "not HTTP"),
    ],
)
async def test_what_is_no_answer_is_told(said: bytes, problem: type[Exception], words: str) -> None:
    async with client_of(says(said)) as client:
        with pytest.raises(problem, match=words):
            await client.get("/")


@pytest.mark.parametrize(
    ("before", "ever"),
    [
        (b"HTTP/1.1 200 OK\r\nX: ", b"x" * 1000),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: ", b"x" * 1000),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 40),
    ],
    ids=["head", "trailer", "heads that only ask for patience"],
)
async def test_what_comes_before_or_behind_a_body_for_ever_is_not_kept(before: bytes, ever: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(before)
        while True:
            writer.write(ever)
            await writer.drain()

    async with client_of(serve) as client:
        with pytest.raises(httpx2.RemoteProtocolError, match="larger than"):
            await client.get("/")


@pytest.mark.parametrize("more", [PLAIN.replace(b"ok", b"no"), b"HTTP/1.1 500 No\r\n"], ids=["another", "half of another"])
async def test_what_follows_an_answer_is_no_part_of_it_nor_of_the_next(more: bytes) -> None:
    async with client_of(says(PLAIN + more, b"Content-Length: 2\r\n\r\nno")) as client:
        assert [(await client.get("/")).text for _ in range(3)] == ["ok"] * 3


async def test_what_a_server_says_unasked_ends_the_connection() -> None:
    opened, has_answered = 0, asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal opened
        opened += 1
        await says(PLAIN)(reader, writer)
        await has_answered.wait()
        writer.write(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            while await reader.read(1000):
                writer.write(PLAIN)
        closed.set()

    async with client_of(serve) as client:
        closed = asyncio.Event()
        assert (await client.get("/")).text == "ok"
        has_answered.set()
        await asyncio.wait_for(closed.wait(), 10)
        assert (await client.get("/")).text == "ok"
        assert opened == 2


async def test_a_server_that_says_close_is_called_anew() -> None:
    closing = PLAIN.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    async with client_of(says(closing, PLAIN.replace(b"ok", b"no"))) as client:
        assert [(await client.get("/")).text for _ in range(2)] == ["ok"] * 2


async def test_silence_has_a_limit() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with client_of(serve, read=0.01) as client:
        with pytest.raises(httpx2.ReadTimeout, match="said nothing"):
            await client.get("/")


async def test_a_server_is_held_back_while_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "HELD_BYTES", 50_000)
    size, sent = 100_000_000, 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        while sent < size:
            writer.write(b"x" * 100_000)
            await writer.drain()
            sent += 100_000
        await reader.read()

    async with client_of(serve) as client, client.stream("GET", "/") as answer:
        before = -1
        while before < sent:  # until it stands still
            before = sent
            await asyncio.sleep(0.2)
        assert sent < size / 2
        assert sum([len(part) async for part in answer.aiter_raw()]) == size


async def test_an_answer_that_nobody_read_leaves_no_connection_deaf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "HELD_BYTES", 1)
    async with client_of(says(PLAIN, PLAIN.replace(b"ok", b"2.")), read=2) as client:
        async with client.stream("GET", "/"):
            pass
        assert (await client.get("/")).text == "2."


async def test_a_header_cannot_hold_a_second_one() -> None:
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read())

    async with client_of(serve) as client:
        with pytest.raises(httpx2.LocalProtocolError, match="line break"):
            await client.get("/", headers={"X-Name": "a\r\nX-Evil: b"})
    assert not any(heard)


async def test_a_body_of_unknown_length_is_sent_in_chunks() -> None:
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        heard.append(await reader.readuntil(b"0\r\n\r\n"))
        writer.write(PLAIN)

    async def parts() -> AsyncIterator[bytes]:
        yield b"some"
        yield b""
        yield b"thing longer than nine"

    async with client_of(serve) as client:
        assert (await client.post("/", content=parts())).text == "ok"
    assert heard == [b"4\r\nsome\r\n16\r\nthing longer than nine\r\n0\r\n\r\n"]


async def test_nobody_at_home_is_told() -> None:
    async with client_of(says()) as client:
        url = client.base_url
    async with httpx2.AsyncClient(transport=ConnectionPool()) as client:
        with pytest.raises(httpx2.ConnectError, match=r"refused|Connect call failed"):
            await client.get(url)


@pytest.mark.parametrize(("name", "is_right"), [("mill.example", True), ("other.example", False)])
async def test_the_certificate_must_bear_the_name(
    name: str, is_right: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name is that of the request, also where the address was looked up and checked before."""
    (tmp_path / "pem").write_bytes(certificate("mill.example"))
    secure = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    secure.load_cert_chain(tmp_path / "pem")
    monkeypatch.setattr(wire, "_load_trusted_certificates", lambda: ssl.create_default_context(cafile=str(tmp_path / "pem")))
    async with client_of(says(PLAIN), secure) as client:
        request = client.build_request("GET", "/", extensions={"sni_hostname": name})
        if is_right:
            assert (await client.send(request)).text == "ok"
        else:
            with pytest.raises(httpx2.ConnectError, match="certificate"):
                await client.send(request)


def certificate(name: str) -> bytes:
    """One for ``name`` with its key, signed by itself."""
    key, subject = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )  # fmt: skip
    return private + builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
