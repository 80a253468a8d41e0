"""Hostile pages, hostile bytes, hostile neighbours: the HTTP threats, each against the real service."""

import gzip
import json
import socket
import threading
from typing import Any

import pytest
import websockets.sync.client
from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode

from tests.e2e.http.conftest import SETTINGS, Service, Start
from tests.e2e.http.test_mcp import call

GOOD = {"code": "1"}


def raw(service: Service, content: bytes, *, seconds: float = 20.0) -> bytes:
    """Send bytes as they are; everything that comes back until the service hangs up."""
    with socket.create_connection(service.address, timeout=seconds) as connection:
        connection.sendall(content)
        connection.shutdown(socket.SHUT_WR)
        found = b""
        while chunk := connection.recv(65_536):
            found += chunk
        return found


@pytest.mark.requirement("T43")
@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8030", "127.0.0.1.evil.example", "localhost.evil.example", "", "localhost:8210,evil.example",
     "localhost:8210@evil.example", "localhost:", "localhost/evil.example", "[::1]evil.example", "localhost:8210:1"],
)  # fmt: skip
def test_a_rebound_name_is_not_answered(service: Service, host: str) -> None:
    with service.client(headers={"Host": host}) as client:
        answer = client.post("/execute", json=GOOD)
    assert (answer.status_code, answer.json()["rule"]) == (421, "http.host")


@pytest.mark.requirement("T43")
@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost.evil.example"])
def test_a_page_of_another_origin_is_refused(service: Service, origin: str) -> None:
    with service.client(headers={"Origin": origin}) as client:
        posted, read = client.post("/execute", json=GOOD), client.get("/executions")
    assert (posted.status_code, posted.json()["rule"]) == (403, "http.origin")
    assert read.status_code == 403
    assert [name for name in posted.headers if name.startswith("access-control")] == []


@pytest.mark.requirement("T43")
def test_our_own_pages_may_ask(service: Service) -> None:
    with service.client(headers={"Origin": service.url, "Sec-Fetch-Site": "same-origin"}) as client:
        assert client.post("/execute", json=GOOD).status_code == 200


@pytest.mark.requirement("T43")
@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""])
def test_what_a_page_can_send_without_asking_is_refused(service: Service, kind: str) -> None:
    with service.client(headers={"Content-Type": kind}) as client:
        answer = client.post("/execute", content=json.dumps(GOOD))
    assert (answer.status_code, answer.json()["rule"]) == (415, "http.content_type")


@pytest.mark.requirement("T43")
def test_an_image_tag_of_another_site_reads_nothing(service: Service) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
    with service.client(headers=headers) as client:
        assert client.get("/executions").json()["rule"] == "http.cross_site"


@pytest.mark.requirement("T43")
def test_a_preflight_is_never_granted(service: Service) -> None:
    headers = {
        "Origin": "https://evil.example", "Access-Control-Request-Method": "POST", "Access-Control-Request-Private-Network": "true",
    }  # fmt: skip
    with service.client(headers=headers) as client:
        answer = client.options("/execute")
    assert answer.status_code in (403, 405)
    assert [name for name in answer.headers if name.startswith("access-control")] == []


@pytest.mark.requirement("T43")
def test_a_page_of_an_origin_that_is_named_may_ask_and_read_and_no_other(starting: Start) -> None:
    with starting(SETTINGS + 'origins = ["https://ops.example.com"]\n') as service, service.client("ann") as client:
        wants = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
        ours, theirs = {"Origin": "https://ops.example.com"}, {"Origin": "https://evil.example"}
        granted = client.options("/execute", headers={**ours, **wants})
        answer = client.post("/execute", json={"code": "1"}, headers=ours)
        refused = [client.options("/execute", headers={**theirs, **wants}), client.post("/execute", json={}, headers=theirs)]
    assert (granted.status_code, answer.status_code) == (200, 200)
    assert {each.headers["access-control-allow-origin"] for each in (granted, answer)} == {ours["Origin"]}
    assert [each.headers.get("access-control-allow-origin") for each in refused] == [None, None]
    assert [each.status_code for each in refused] == [400, 403]


@pytest.mark.requirement("T44")
@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "//", "http://", "a b"])
def test_an_origin_that_is_none_is_refused(service: Service, origin: str) -> None:
    with service.client("ann", headers={"Origin": origin}) as client:
        assert [client.get(path).status_code for path in ("/health", "/tools", "/mcp", "/dashboard/")] == [403] * 4


@pytest.mark.requirement("T44")
def test_a_body_that_is_too_large_is_refused_declared_or_not(service: Service) -> None:
    big = json.dumps({"code": "#" * 300_000}).encode()
    with service.client("ann", headers={"Content-Type": "application/json"}) as client:
        declared = client.post("/execute", content=big)
        streamed = client.post("/execute", content=iter([big[:100_000], big[100_000:]]))
    assert (declared.status_code, declared.json()["limit"]) == (413, "serve.body_bytes")
    assert streamed.status_code == 413


@pytest.mark.requirement("T44")
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "gzip, identity"])
def test_nothing_is_unpacked(service: Service, encoding: str) -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    with service.client("ann", headers={"Content-Type": "application/json", "Content-Encoding": encoding}) as client:
        answer = client.post("/execute", content=bomb[:150_000])
    assert (answer.status_code, answer.json()["rule"]) == (415, "http.content_encoding")


@pytest.mark.requirement("T44")
@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{", b'{"code": NaN}', b'{"context": {"a": Infinity}}', b"[" * 100_000, b'{"a":' * 20_000, b'{"code": "\\ud800"}',
     b'{"code": "\xff"}', b"\xef\xbb\xbf{}", b'{"context": {"n": ' + b"9" * 5_000 + b"}}", b"nul", b'{"code": "1"} {}'],
)  # fmt: skip
def test_what_is_no_request_is_told_so_and_hurts_nobody(service: Service, body: bytes) -> None:
    with service.client("ann", headers={"Content-Type": "application/json"}) as client:
        assert client.post("/execute", content=body).status_code == 422
        assert client.get("/health").status_code == 200


@pytest.mark.requirement("T110")
@pytest.mark.parametrize(
    "body",
    [b'{"code": "1", "code": "2"}', b'{"code": "1", "context": {"a": [{"b": 1, "b": 1}]}}', b'{"code": "1", "cod\\u0065": "2"}'],
)
def test_a_key_that_stands_twice_is_refused(service: Service, body: bytes) -> None:
    with service.client("ann", headers={"Content-Type": "application/json"}) as client:
        answer = client.post("/execute", content=body)
        padded = client.post("/execute", content=b" " * 100_000 + body)
        asked = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": ' + body + b"}"
        over_mcp = client.post("/mcp", content=asked, headers={"Accept": "application/json, text/event-stream"})
    for each in (answer, padded, over_mcp):
        assert (each.status_code, each.json()["rule"]) == (422, "http.repeated_key")
    headers = {"Authorization": f"Bearer {service.tokens['ann']}"}
    with websockets.sync.client.connect(service.url.replace("http", "ws") + "/ws", additional_headers=headers) as socket_:
        socket_.send(body.decode())
        assert "http.repeated_key" in str(socket_.recv(timeout=30))


@pytest.mark.requirement("T110")
def test_a_request_that_is_hidden_in_the_body_of_another_is_not_answered(service: Service) -> None:
    hidden = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    head = b"POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
    answer = raw(service, head + b"Content-Length: %d\r\n\r\n0\r\n\r\n" % (5 + len(hidden)) + hidden)
    assert answer.startswith(b"HTTP/1.1 400")
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.requirement("T44")
def test_headers_that_are_too_large_are_refused(service: Service) -> None:
    answer = raw(service, b"GET /tools HTTP/1.1\r\nHost: localhost\r\nX-Big: " + b"a" * 100_000 + b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400")


@pytest.mark.requirement("T44")
@pytest.mark.parametrize(
    "request_",
    [b"POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
     b"POST /execute HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
     b"POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
     b"GET /tools HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
     b"GET /tools HTTP/1.1\r\nHost : localhost\r\n\r\n",
     b"GET /tools HTTP/1.1\nHost: localhost\r\n\x00\r\n\r\n"],
)  # fmt: skip
def test_requests_that_can_be_read_in_two_ways_are_refused(service: Service, request_: bytes) -> None:
    status = raw(service, request_).split(b"\r\n")[0].split(b" ")
    assert status[1][:1] in (b"4", b"5")


@pytest.mark.requirement("T44")
def test_whoever_sends_headers_or_bodies_too_slowly_is_hung_up_on(service: Service) -> None:
    with (
        socket.create_connection(service.address, timeout=30) as silent,
        socket.create_connection(service.address, timeout=30) as slow,
    ):
        silent.sendall(b"GET /tools HTTP/1.1\r\nHost: local")
        head = b"POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"
        slow.sendall(head + b'{"code"')
        assert silent.recv(100) == b""
        assert slow.recv(100).startswith(b"HTTP/1.1 408")


@pytest.mark.requirement("T44")
def test_a_message_that_is_too_large_ends_its_socket_and_nothing_else(service: Service) -> None:
    headers = {"Authorization": f"Bearer {service.tokens['ann']}"}
    with websockets.sync.client.connect(service.url.replace("http", "ws") + "/ws", additional_headers=headers) as socket_:
        socket_.send(json.dumps({"type": "execute", "code": "#" * 300_000}))
        with pytest.raises(ConnectionClosed) as closed:
            socket_.recv(timeout=30)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == CloseCode.MESSAGE_TOO_BIG
    with service.client("ann") as client:
        assert client.post("/execute", json=GOOD).status_code == 200


@pytest.mark.requirement("T44")
def test_past_so_many_connections_further_ones_are_told_so_until_some_end(starting: Start) -> None:
    with starting(SETTINGS.replace("request_seconds = 3.0", "request_seconds = 60.0") + "connections = 3\n") as service:
        held = [begin_long_execution(service) for _ in range(3)]
        while status(service) == 200:
            pass  # their requests are read a moment later
        with service.client("operator") as client:
            assert [client.get(path).status_code for path in ("/health", "/ready", "/metrics")] == [
                200
            ] * 3  # for those who watch
            refused = client.get("/tools")
            assert (refused.status_code, refused.json()["limit"]) == (503, "serve.connections")
            assert int(refused.headers["retry-after"]) > 0
            assert 'http_requests_total{route="(none)",status="503"} 2.0' in client.get("/metrics").text
        for one in held:
            one.close()
        while status(service) == 503:
            pass  # that they are gone is heard a moment later
        assert status(service) == 200


def begin_long_execution(service: Service) -> socket.socket:
    """A connection whose request is being answered until it is closed."""
    body = json.dumps({"code": "import time\ntime.sleep(30)"}).encode()
    head = f"POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    connection = socket.create_connection(service.address, timeout=30)
    connection.sendall(head.encode() + body)
    return connection


def status(service: Service) -> int:
    with service.client(headers={"Connection": "close"}) as client:
        return client.get("/tools").status_code


@pytest.mark.requirement("T45")
def test_too_many_at_once_are_told_when_to_come_again(starting: Start) -> None:
    settings = SETTINGS.replace("concurrency = 4", "concurrency = 1") + "waiting = 0\n"
    with starting(settings) as service, service.client("ann") as client, service.client("eve") as other:
        first = client.post("/execute", json={"code": "import time\ntime.sleep(20)", "background": True}).json()
        wait_until_called(client, first["id"])
        answer = client.post("/execute", json=GOOD)
        assert client.delete(f"/executions/{first['id']}").status_code == 204
        assert (answer.status_code, answer.json()["limit"]) == (429, "serve.waiting")
        assert int(answer.headers["retry-after"]) >= 1
        assert other.get("/tools").status_code == 200


@pytest.mark.requirement("T45")
def test_requests_in_a_minute_are_limited_per_tenant(starting: Start) -> None:
    with starting(SETTINGS + "requests_per_minute = 5\n") as service:
        with service.client("ann") as client:
            statuses = [client.get("/tools").status_code for _ in range(7)]
            late = client.get("/tools")
        with service.client("eve") as client:
            assert client.get("/tools").status_code == 200
    assert statuses == [200] * 5 + [429] * 2
    assert 1 <= int(late.headers["retry-after"]) <= 12


FLOOD = SETTINGS.replace("concurrency = 4", "concurrency = 1").replace('ask = ["crm.send"]', 'allow = ["crm.send"]')
HELD = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)"
COUNTED = {"code": "from servers.crm import send\nsend('everybody')['times']"}  # the how manieth call of all tenants it is


@pytest.mark.requirement("T45")
def test_a_tenant_that_floods_the_service_delays_another_by_one_turn_and_not_by_its_queue(starting: Start) -> None:
    with starting(FLOOD) as service, service.client("ann") as noisy, service.client("eve") as quiet:
        noisy.post("/sessions", json={"name": "held"})
        first = noisy.post("/execute", json={"code": HELD, "session": "held", "background": True}).json()["id"]
        wait_until_called(noisy, first)
        flood = [noisy.post("/execute", json={**COUNTED, "background": True}).json()["id"] for _ in range(10)]
        agents = [threading.Thread(target=call, args=(service, "ann", "execute_code", COUNTED)) for _ in range(3)]
        for agent in agents:
            agent.start()
        while len(noisy.get("/executions", params={"status": "running"}).json()["executions"]) < 14:
            pass  # over MCP it takes longer to be in the line
        late = quiet.post("/execute", json={**COUNTED, "background": True}).json()["id"]
        noisy.put("/sessions/held/files/go", content=b"").raise_for_status()
        place = outcome(quiet, late)["result"]
        places = [outcome(noisy, one)["result"] for one in flood]
        for agent in agents:
            agent.join(60)
        last = outcome(quiet, quiet.post("/execute", json={**COUNTED, "background": True}).json()["id"])["result"]
    assert place <= 2, "one execution of the flood may have been granted before"
    assert (len({place, *places}), last) == (11, 15), "and nobody was forgotten"


def outcome(client: Any, execution: str) -> dict[str, Any]:
    """What the execution came to; its events end when it does."""
    client.get(f"/executions/{execution}/events")
    return client.get(f"/executions/{execution}").json()["outcome"]


def wait_until_called(client: Any, execution: str) -> None:
    """Wait until the execution is seen running."""
    while client.get(f"/executions/{execution}").json()["status"] != "running":
        pass


@pytest.mark.requirement("T47")
def test_nothing_in_the_api_configures_commands_or_addresses(service: Service) -> None:
    with service.client("operator") as client:
        openapi = client.get("/openapi.json").json()
        for path in ("/servers", "/tools", "/tools/new", "/config"):
            assert client.post(path, json={"command": "sh", "url": "http://169.254.169.254/"}).status_code in (404, 405)
    changing = {path for path, methods in openapi["paths"].items() if {"post", "put", "patch", "delete"} & set(methods)}
    assert changing == {
        "/execute", "/executions/{id}", "/executions/{id}/revert", "/sessions", "/sessions/{id}", "/sessions/{id}/files/{path}",
        "/skills/{name}", "/approvals/{id}", "/approval-rules/{id}", "/chat", "/chat/conversations/{id}",
        *(f"/chat/conversations/{{id}}/{step}" for step in ("decide", "resume", "stop", "undo")), "/v1/chat/completions",
        "/feedback", "/rollout/outcomes", "/rollout/steps",
    }  # fmt: skip
    assert "command" not in json.dumps(openapi["components"]["schemas"]["ExecuteRequest"])


@pytest.mark.requirement("T33")
def test_a_page_from_a_workspace_is_handed_over_and_never_shown(service: Service) -> None:
    with service.client("ann") as client:
        client.post("/sessions", json={"name": "pages"})
        client.put("/sessions/pages/files/x%22%0d%0a.html", content=b"<script>alert(1)</script>")
        client.put("/sessions/pages/files/page.html", content=b"<script>alert(1)</script>").raise_for_status()
        page = client.get("/sessions/pages/files/page.html")
        told = client.post("/execute", json={"code": "print('<script>\\x1b[31m\\u202e')"})
    assert page.headers["content-type"] == "application/octet-stream"
    assert page.headers["content-disposition"].startswith("attachment")
    assert page.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in page.headers["content-security-policy"]
    assert told.headers["content-type"] == "application/json"
    assert told.headers["x-content-type-options"] == "nosniff"
