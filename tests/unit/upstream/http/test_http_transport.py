"""The guard between the HTTP client and the network, with a fake network."""

import gzip
import ipaddress
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
import pytest

from gristmill.upstream.http import http_transport as http
from gristmill.upstream.http.http_transport import Address, Guard

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def _guard(answer: Callable[[httpx2.Request], httpx2.Response], **settings: Any) -> httpx2.AsyncClient:
    values: dict[str, Any] = {"cap": 100} | settings
    address = Address(url="https://home.example/mcp", **values)
    return httpx2.AsyncClient(transport=Guard(address, inner=httpx2.MockTransport(answer)))


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


@pytest.mark.parametrize("inside", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fd00::1"])
@pytest.mark.requirement("T40")
async def test_a_public_server_cannot_send_a_login_to_an_internal_address(inside: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _names(monkeypatch, home="93.184.216.34", evil=inside)
    async with _guard(lambda _request: httpx2.Response(200)) as client:
        assert (await client.get("https://evil.example/token")).status_code == 503


async def test_a_public_server_cannot_send_a_login_over_plain_http(monkeypatch: pytest.MonkeyPatch) -> None:
    _names(monkeypatch, home="93.184.216.34", issuer="93.184.216.35")
    async with _guard(lambda _request: httpx2.Response(200)) as client:
        assert (await client.get("http://issuer.example/token")).status_code == 503


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
    assert "s3cret" not in repr(Address(url="https://x", headers={"Authorization": "Bearer s3cret"}))
