"""Clients that send slowly, ask nothing, or do not read: none of them holds a place of the service for good."""

import json
import select
import socket
from collections.abc import Generator
from contextlib import ExitStack, contextmanager

import pytest

from tests.e2e.http.conftest import SETTINGS, Service, Start

FEW = SETTINGS.replace("request_seconds = 3.0", "request_seconds = 600.0") + "connections = 20\n"
HEAD = b"POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
REFUSED = {
    "a wrong token": (401, HEAD + b"Authorization: Bearer gm_0_x\r\nContent-Length: 100000\r\n\r\n{"),
    "a body that is too large": (413, HEAD + b"Content-Length: 100000000\r\n\r\n{"),
    "a body of another kind": (415, HEAD.replace(b"/json", b"/xml") + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{"),
    "an unknown path": (404, HEAD.replace(b"/execute", b"/nothing") + b"Content-Length: 100000\r\n\r\n{"),
    "a body where none is read": (200, HEAD.replace(b"POST /execute", b"GET /health") + b"Content-Length: 100000\r\n\r\n{"),
}


@contextmanager
def connect(service: Service, content: bytes = b"") -> Generator[socket.socket]:
    with socket.create_connection(service.address, timeout=30) as connection:
        connection.sendall(content)
        yield connection


def read_all(connection: socket.socket) -> bytes:
    """What comes until the service ends the connection."""
    found = b""
    try:
        while chunk := connection.recv(65_536):
            found += chunk
    except ConnectionResetError:
        pass
    return found


@pytest.mark.requirement("T113")
@pytest.mark.parametrize(("status", "request_"), REFUSED.values(), ids=REFUSED)
def test_a_connection_is_closed_when_its_request_is_answered_before_it_has_arrived(
    service: Service, status: int, request_: bytes
) -> None:
    with connect(service, request_) as connection:
        answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 %d" % status)
    assert b"connection: close" in answer.lower()


@pytest.mark.requirement("T113")
def test_a_client_that_goes_on_sending_reads_why_it_was_refused(service: Service) -> None:
    with connect(service, REFUSED["a body that is too large"][1]) as connection:
        connection.sendall(b" " * 500_000)
        assert read_all(connection).startswith(b"HTTP/1.1 413")


@pytest.mark.requirement("T113")
def test_a_body_that_stops_is_answered_408_and_its_connection_closed(service: Service) -> None:
    with connect(service, HEAD + b"Content-Length: 100\r\n\r\n{") as connection:
        assert read_all(connection).startswith(b"HTTP/1.1 408")


@pytest.mark.requirement("T113")
def test_an_upload_that_drips_is_broken_off(service: Service) -> None:
    with service.client("ann") as client:
        client.post("/sessions", json={"name": "drip"}).raise_for_status()
    token = f"Authorization: Bearer {service.tokens['ann']}".encode()
    head = b"PUT /sessions/drip/files/x HTTP/1.1\r\nHost: localhost\r\n" + token + b"\r\nContent-Length: 100000\r\n\r\n"
    with connect(service, head) as connection:
        connection.settimeout(0.2)  # a byte at a time, until there is an answer
        answer = b""
        while not answer:
            try:
                connection.sendall(b"x")
                answer = connection.recv(65_536)
            except TimeoutError:
                pass
    assert answer.startswith(b"HTTP/1.1 408")


@pytest.mark.requirement("T113")
@pytest.mark.parametrize(
    "begun", [b"", b"GET /tools HTTP/1.1\r\nHost: local", REFUSED["a wrong token"][1]], ids=["silent", "half", "refused"]
)
def test_many_connections_that_ask_nothing_keep_no_client_out(starting: Start, begun: bytes) -> None:
    with starting(FEW) as service, ExitStack() as crowd:
        for _ in range(150):
            crowd.enter_context(connect(service, begun))
        for path in ("/health", "/ready", "/tools"):
            with service.client("ann") as client:
                assert client.get(path).status_code == 200
        with service.client("ann") as client:
            assert client.post("/execute", json={"code": "1 + 1"}).json()["result"] == 2


def count_running(service: Service) -> int:
    """Counts running executions; an answer that says too many connections counts as two."""
    with service.client() as client:
        return len(client.get("/executions", params={"status": "running"}).json().get("executions", ".."))


def is_answered(connection: socket.socket) -> bool:
    """Returns whether the service has answered or closed the connection."""
    return bool(select.select([connection], [], [], 0)[0])


@pytest.mark.requirement("T113")
def test_probes_are_answered_while_all_places_are_taken_by_requests_that_are_being_answered(starting: Start) -> None:
    with starting(FEW.replace("connections = 20", "connections = 2")) as service, ExitStack() as crowd:
        body = json.dumps({"code": "import time\ntime.sleep(60)"}).encode()
        busy = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
        for place in (1, 2):
            connection = crowd.enter_context(connect(service, busy))
            while count_running(service) < place:
                if is_answered(connection):  # a new connection took its place before the request was read
                    connection = crowd.enter_context(connect(service, busy))
        refused = [crowd.enter_context(connect(service, busy)) for _ in range(100)]
        for path in ("/health", "/ready"):
            with service.client() as client:
                assert client.get(path).status_code == 200
        said = [read_all(one) for one in refused]
        assert all(one.startswith(b"HTTP/1.1 503") or not one for one in said)
        assert any(said)
