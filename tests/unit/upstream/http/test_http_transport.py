"""The guard between the HTTP client and the network, with a fake network."""

import gzip
import ipaddress
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
import pytest

from gristmill.upstream.http import http_transport as http
from gristmill.upstream.http.http_transport import AddressGuard, HttpAddress

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def _guard(answer: Callable[[httpx2.Request], httpx2.Response], **settings: Any) -> httpx2.AsyncClient:
    values: dict[str, Any] = {"cap": 100} | settings
    address = HttpAddress(url="https://home.example/mcp", **values)
    return httpx2.AsyncClient(transport=AddressGuard(address, inner=httpx2.MockTransport(answer)))


def _names(monkeypatch: pytest.MonkeyPatch, **addresses: str) -> None:
    async def resolve(host: str, _port: int) -> list[Any]:
        return [ipaddress.ip_address(addresses[host.partition(".")[0]])]

    monkeypatch.setattr(http, "_resolve", resolve)


async def test_a_failed_request_is_answered_in_the_servers_place() -> None:
    def fail(_request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    async with _guard(fail) as client:
        response = await client.post("https://home.example/mcp")
    assert response.status_code == 503
    assert response.json()["error"]["message"] == "ConnectError refused"


async def test_an_answer_past_the_cap_is_cut_off_whether_it_says_its_length_or_not() -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 50

    async with _guard(lambda _request: httpx2.Response(200, content=b"x" * 101)) as client:
        assert (await client.get("https://home.example/mcp")).status_code == 502
    async with _guard(lambda _request: httpx2.Response(200, content=endless())) as client:
        with pytest.raises(httpx2.StreamError):
            await client.get("https://home.example/mcp")


async def test_a_compressed_answer_is_not_unpacked() -> None:
    packed = gzip.compress(b"x" * 10_000_000)
    headers = {"content-encoding": "gzip"}
    async with _guard(lambda _request: httpx2.Response(200, content=packed, headers=headers), cap=10**6) as client:
        assert (await client.get("https://home.example/mcp")).status_code == 502


@pytest.mark.parametrize(
    "inside",
    ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fd00::1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1",
     "2002:7f00:1::", "2002:a00:1::1", "::ffff:127.0.0.1", "::ffff:0:7f00:1", "::7f00:1", "2001:0:7f00:1::", "224.0.0.1", "ff0e::1",
     "2600::5efe:7f00:1"],
)  # fmt: skip
@pytest.mark.requirement("T40", "T111")
async def test_a_public_server_cannot_send_a_login_to_an_internal_address(inside: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _names(monkeypatch, home="93.184.216.34", evil=inside)
    async with _guard(lambda _request: httpx2.Response(200)) as client:
        assert (await client.get("https://evil.example/token")).status_code == 503


async def test_a_public_server_cannot_send_a_login_over_plain_http(monkeypatch: pytest.MonkeyPatch) -> None:
    _names(monkeypatch, home="93.184.216.34", issuer="93.184.216.35")
    async with _guard(lambda _request: httpx2.Response(200)) as client:
        assert (await client.get("http://issuer.example/token")).status_code == 503


@pytest.mark.requirement("T111")
@pytest.mark.parametrize("home", ["93.184.216.34", "10.0.0.1"])
async def test_a_login_on_the_servers_own_host_goes_over_tls_as_the_server_does(
    home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _names(monkeypatch, home=home)
    async with _guard(lambda _request: httpx2.Response(200)) as client:
        assert (await client.get("http://home.example/token")).status_code == 503
        assert (await client.get("http://home.example:443/token")).status_code == 503
        assert (await client.get("https://home.example:8443/token")).status_code == 200


@pytest.mark.parametrize("outside", ["93.184.216.34", "2606:2800:220:1::1", "64:ff9b::5db8:d822", "2002:5db8:d822::1"])
async def test_a_public_address_may_be_asked_in_any_form(outside: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _names(monkeypatch, home="93.184.216.34", issuer=outside)
    async with _guard(lambda _request: httpx2.Response(200)) as client:
        assert (await client.get("https://issuer.example/token")).status_code == 200


async def test_the_address_that_was_checked_is_the_one_that_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    _names(monkeypatch, home="93.184.216.34", issuer="93.184.216.35")
    sent: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(request)
        return httpx2.Response(200)

    async with _guard(answer) as client:
        await client.get("https://issuer.example/token")
    assert sent[0].url.host == "93.184.216.35"
    assert sent[0].headers["host"] == "issuer.example"
    assert sent[0].extensions["sni_hostname"] == "issuer.example"


async def test_an_internal_server_may_have_an_internal_issuer(monkeypatch: pytest.MonkeyPatch) -> None:
    _names(monkeypatch, home="10.0.0.1", issuer="10.0.0.2")
    async with _guard(lambda _request: httpx2.Response(200)) as client:
        assert (await client.get("http://issuer.example/token")).status_code == 200


def test_an_address_hides_its_headers() -> None:
    assert "s3cret" not in repr(HttpAddress(url="https://x", headers={"Authorization": "Bearer s3cret"}))


@pytest.mark.requirement("T90")
@pytest.mark.parametrize("url", ["https://evil.example/x", "http://home.example/x", "https://home.example:8443/x"])
async def test_a_request_of_an_api_never_leaves_its_origin(url: str) -> None:
    sent: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(request)
        return httpx2.Response(200)

    async with _guard(answer, speaks_mcp=False) as client:
        with pytest.raises(httpx2.UnsupportedProtocol):
            await client.get(url)
        assert (await client.get("https://home.example:443/x")).status_code == 200
    assert [str(request.url) for request in sent] == ["https://home.example/x"]
