"""Crowds of slow clients at the size in which they were found to stop the service."""

import socket
from contextlib import ExitStack

import pytest

from tests.e2e.http.conftest import SETTINGS, Start

THOUSAND = SETTINGS.replace("request_seconds = 3.0", "request_seconds = 600.0") + "connections = 500\n"
HALF = b"GET /tools HTTP/1.1\r\nHost: local"
DRIPPING = (
    b"POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer gm_0_x\r\n"
    b"Content-Length: 1000000\r\n\r\n{"
)


@pytest.mark.thorough
@pytest.mark.requirement("T113")
@pytest.mark.parametrize("begun", [HALF, DRIPPING], ids=["half requests", "refused bodies"])
def test_a_thousand_slow_clients_keep_nobody_out(starting: Start, begun: bytes) -> None:
    with starting(THOUSAND) as service, ExitStack() as crowd:
        for number in range(1_100):
            crowd.enter_context(socket.create_connection(service.address, timeout=30)).sendall(begun)
            if number % 100 == 0:
                with service.client("ann") as client:
                    assert client.get("/health").status_code == 200
        with service.client("ann") as client:
            assert [client.get(path).status_code for path in ("/health", "/ready", "/tools")] == [200] * 3
            assert client.post("/execute", json={"code": "1 + 1"}).json()["result"] == 2
        log = service.end()
    assert len(log) < 1_000_000
