"""Which requests go through a proxy, and how."""

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from gristmill.errors import ConfigError
from gristmill.upstream.http import http_connection as wire
from gristmill.upstream.http.connection_pool import ConnectionPool
from gristmill.upstream.http.environment_proxy import HttpProxy, ProxyChoice
from gristmill.upstream.http.http_transport import AddressGuard, HttpAddress
from tests.unit.upstream.http.test_http_connection import PLAIN, certificate

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize(
    ("environ", "url", "chosen"),
    [
        ({}, ("https", "x.example", 443), None),
        ({"HTTPS_PROXY": "http://p:3128"}, ("https", "x.example", 443), "p:3128"),
        ({"HTTPS_PROXY": "http://p:3128"}, ("http", "x.example", 80), None),
        ({"HTTP_PROXY": "p"}, ("http", "x.example", 80), "p:80"),
        ({"ALL_PROXY": "http://a:1", "https_proxy": "http://b:2"}, ("https", "x.example", 443), "b:2"),
        ({"ALL_PROXY": "http://a:1"}, ("https", "x.example", 443), "a:1"),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "intern.example,x.example:444"}, ("https", "a.intern.example", 443), None),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "x.example:444"}, ("https", "x.example", 443), "p:1"),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8, .intern"}, ("https", "10.2.3.4", 443), None),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8, .intern"}, ("https", "Git.Intern", 443), None),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8,intern,,."}, ("https", "notintern", 443), "p:1"),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*"}, ("https", "x.example", 443), None),
        ({"HTTPS_PROXY": "http://p:1", "HTTP_PROXY": "http://p:1"}, ("http", "127.0.0.1", 8030), None),
        ({"HTTP_PROXY": "http://p:1"}, ("http", "localhost", 8030), None),
        ({"HTTP_PROXY": "http://p:1"}, ("http", "::1", 8030), None),
        ({"HTTPS_PROXY": ""}, ("https", "x.example", 443), None),
    ],
)
def test_the_variables_choose_as_in_other_programs(
    environ: dict[str, str], url: tuple[str, str, int], chosen: str | None
) -> None:
    found = ProxyChoice.from_environ(environ).choose(*url)
    assert (None if found is None else f"{found.host}:{found.port}") == chosen


@pytest.mark.parametrize("value", ["socks5://p:1", "https://p:1", "http://", "http://p:port"])
def test_a_proxy_that_cannot_be_used_is_refused_with_its_variable(value: str) -> None:
    with pytest.raises(ConfigError, match=r"HTTPS_PROXY names a proxy that cannot be used"):
        ProxyChoice.from_environ({"HTTPS_PROXY": value})


def test_the_password_is_never_printed() -> None:
    choice = ProxyChoice.from_environ({"HTTPS_PROXY": "http://me:s%40cret@p:1"})
    assert choice.by_scheme["https"].authorization == "Basic bWU6c0BjcmV0"
    assert "Basic" not in repr(choice.by_scheme["https"])


@asynccontextmanager
async def a_proxy(heads: list[bytes], answer: bytes | None = None, inner: int = 0) -> AsyncGenerator[int]:
    """A proxy that keeps the heads of requests, and answers as told, or connects to the port ``inner`` of this machine."""

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            writer.write(data)
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        if answer is not None:
            writer.write(answer)
            writer.close()
            return
        inside, outside = await asyncio.open_connection("127.0.0.1", inner)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(pump(reader, outside), pump(inside, writer), return_exceptions=True)

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        yield listening.sockets[0].getsockname()[1]
        for _ in range(3):
            await asyncio.sleep(0)  # both ends of a refused connection are closed in the next rounds of the loop


def through(port: int, user: str = "me:secret@") -> httpx2.AsyncClient:
    environ: dict[str, str] = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY"), f"http://{user}127.0.0.1:{port}")
    return httpx2.AsyncClient(transport=ConnectionPool(ProxyChoice.from_environ(environ)), timeout=10)


async def test_a_plain_request_names_its_whole_address() -> None:
    heads: list[bytes] = []
    async with a_proxy(heads, PLAIN) as port, through(port) as client:
        assert (await client.get("http://x.example/a?b=1")).text == "ok"
    assert heads[0].startswith(b"GET http://x.example/a?b=1 HTTP/1.1\r\n")
    assert b"\r\nProxy-Authorization: Basic bWU6c2VjcmV0\r\n" in heads[0]


async def test_a_secure_request_meets_the_server_in_a_tunnel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pem").write_bytes(certificate("x.example"))
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(tmp_path / "pem")
    monkeypatch.setattr(wire, "_load_trusted_certificates", lambda: ssl.create_default_context(cafile=str(tmp_path / "pem")))
    seen: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            seen.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(PLAIN)
        writer.close()

    heads: list[bytes] = []
    async with await asyncio.start_server(answer, "127.0.0.1", 0, ssl=server) as listening:
        inner = listening.sockets[0].getsockname()[1]
        async with a_proxy(heads, inner=inner) as port, through(port) as client:
            assert [(await client.get("https://x.example/a")).text for _ in range(2)] == ["ok", "ok"]
            with pytest.raises(httpx2.ConnectError, match="certificate"):
                await client.get("https://other.example/a")
    assert [head.split(b"\r\n")[0] for head in heads] == [
        b"CONNECT x.example:443 HTTP/1.1", b"CONNECT other.example:443 HTTP/1.1",
    ]  # fmt: skip
    assert [b"Proxy-Authorization" in head for head in seen] == [False, False]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"HTTP/1.1 407 No\r\n\r\n", "HTTP 407; put user and password into the address of the proxy"),
        (b"HTTP/1.1 403 No\r\n\r\n", "does not connect to x.example:443: HTTP 403"),
        (b"SSH-2.0-x\r\n\r\n", "speaks no HTTP"),
        (b"x" * 20_000, "speaks no HTTP"),
        (b"", "closed the connection"),
    ],
)
async def test_a_proxy_that_refuses_is_named(answer: bytes, said: str) -> None:
    async with a_proxy([], answer) as port, through(port) as client:
        with pytest.raises(httpx2.ProxyError, match=f"the proxy 127.0.0.1:{port} .*") as caught:
            await client.get("https://x.example/a")
    assert said in str(caught.value)
    assert "secret" not in str(caught.value)


async def test_a_login_through_a_proxy_goes_to_no_internal_address_and_not_without_tls() -> None:
    sent: list[str] = []

    def note(request: httpx2.Request) -> httpx2.Response:
        sent.append(str(request.url))
        return httpx2.Response(200, json={})

    proxies = ProxyChoice(by_scheme={scheme: HttpProxy(host="p", port=1) for scheme in ("http", "https")})
    address = HttpAddress(url="https://x.example/mcp", proxies=proxies)
    async with httpx2.AsyncClient(transport=AddressGuard(address, inner=httpx2.MockTransport(note))) as client:
        for url in ("https://10.0.0.1/token", "https://[fd00::1]/token", "http://login.example/token", "https://127.0.0.1/token"):
            assert (await client.post(url)).status_code == 503, url
        assert (await client.post("https://login.example/token")).status_code == 200
    assert sent == ["https://login.example/token"]


def test_certificates_are_those_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pem").write_bytes(certificate("x.example"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "pem"))
    load = wire._load_trusted_certificates  # pyright: ignore[reportPrivateUsage]
    load.cache_clear()
    try:
        assert len(load().get_ca_certs()) == 1
    finally:
        load.cache_clear()
