"""What a running service logs: every request with its id and execution, as JSON, and nothing that was confided to it."""

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import websockets.sync.client

from tests.e2e.http.conftest import SETTINGS, start

SECRET = "hunter2-in-the-body"


def test_requests_are_logged_with_their_ids_and_without_what_they_held() -> None:
    with tempfile.TemporaryDirectory(prefix="gristmill-logs-") as place:
        Path(place).chmod(0o755)
        with start(Path(place)) as service:
            with service.client() as client:
                client.get("/health").raise_for_status()
            with service.client("ann", headers={"X-Request-ID": "mine-1"}) as client:
                body = {"code": "context.password", "context": {"password": SECRET}}
                outcome = client.post("/execute", json=body).json()
                client.get("/tools/search", params={"query": SECRET})
            with service.client(headers={"Authorization": f"Bearer gm_000000000000_{SECRET}"}) as client:
                refused = client.get("/executions")
            with service.client("ann") as client:
                background = client.post("/execute", json={"code": "1", "background": True})
                client.get(f"/executions/{background.json()['id']}/events").read()
            with service.client("ann", headers={"X-Request-ID": "mcp-1"}) as client:
                assert client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": SECRET}).headers["X-Request-ID"] == "mcp-1"
            with service.client("operator") as client:
                metrics = client.get("/metrics").text
            logged = service.end()
    assert 'http_requests_total{route="/execute",status="200"} 1.0' in metrics
    assert 'http_requests_total{route="/executions",status="401"} 1.0' in metrics
    assert 'http_requests_total{route="/mcp"' in metrics
    assert SECRET not in logged
    assert not [token for token in service.tokens.values() if token in logged]
    lines = [json.loads(line) for line in logged.splitlines() if not line.startswith("dashboard at ")]
    requests = [line for line in lines if line["event"] == "request"]
    first = requests[0]  # probes are not worth a line each
    assert (first["request"], first["execution"], first["route"]) == ("mine-1", outcome["id"], "/execute")
    assert (first["tenant"], first["caller"], first["status"]) == ("acme", "ann@acme", 200)
    assert [line["status"] for line in requests if line["request"] == refused.headers["X-Request-ID"]] == [401]
    assert [(line["route"], line["caller"]) for line in requests if line["request"] == "mcp-1"] == [("/mcp", "ann@acme")]
    (ended,) = [line for line in lines if line["event"] == "execution"]
    assert (ended["execution"], ended["request"]) == (background.json()["id"], background.headers["X-Request-ID"])
    assert [line["event"] for line in lines if line["event"].startswith("drain")] == ["draining", "drained"]


def test_who_was_turned_away_and_what_failed_can_be_told_from_the_log() -> None:
    with tempfile.TemporaryDirectory(prefix="gristmill-logs-") as place:
        Path(place).chmod(0o755)
        with start(Path(place), SETTINGS + "requests_per_minute = 2\n") as service:
            with service.client("ann") as client:
                assert [client.get("/tools").status_code for _ in range(3)] == [200, 200, 429]
            with service.client("eve") as client:
                assert client.get("/sessions/none").status_code == 404
                unmatched = client.get("/nowhere/secret-path")
            with websockets.sync.client.connect(
                service.url.replace("http", "ws") + "/ws", additional_headers={"Authorization": f"Bearer {service.tokens['eve']}"}
            ) as talk:
                talk.send(json.dumps({"type": "execute", "code": "1"}))
                while (heard := json.loads(talk.recv()))["type"] != "outcome":
                    pass
            with service.client("operator") as client:
                metrics = client.get("/metrics").text
            logged = service.end()
    lines = [json.loads(line) for line in logged.splitlines() if line.startswith("{")]
    (busy,) = [line for line in lines if line.get("status") == 429]
    assert (busy["tenant"], busy["caller"], busy["code"]) == ("acme", "ann@acme", "limit.busy")
    assert [line["code"] for line in lines if line.get("route") == "/sessions/{id}"] == ["not_found.session"]
    (none,) = [line for line in lines if line.get("route") == "(none)"]
    assert (none["status"], none["request"]) == (404, unmatched.headers["X-Request-ID"])
    assert "secret-path" not in logged
    assert 'http_requests_total{route="(none)",status="404"} 1.0' in metrics
    (over,) = [line for line in lines if line["event"] == "execution"]
    assert (over["execution"], over["via"], over["tenant"]) == (heard["outcome"]["id"], "ws", "evil")


def test_a_tool_server_that_fails_is_a_line_without_what_it_said() -> None:
    settings = SETTINGS + '[servers.noisy]\ncommand = "sh"\nargs = ["-c", "echo password=hunter2 >&2; exit 1"]\n'
    with tempfile.TemporaryDirectory(prefix="gristmill-logs-") as place:
        Path(place).chmod(0o755)
        with start(Path(place), settings) as service:
            with service.client("ann") as client, service.client("operator") as operator:
                while (row := {one["name"]: one for one in operator.get("/tools").json()}["noisy"])["state"] != "failed":
                    client.post("/execute", json={"code": "from servers import noisy\nnoisy.x()"})
                told = {one["name"]: one for one in client.get("/tools").json()}["noisy"]
            logged = service.end()
    assert "hunter2" in row["error"]  # the operator may read what his server wrote
    assert told["state"] == "failed"
    assert told["error"]
    assert "hunter2" not in told["error"]
    lines = [json.loads(line) for line in logged.splitlines() if line.startswith("{")]
    failed = [line for line in lines if line["event"] == "server failed"]
    assert {(line["server"], line["level"]) for line in failed} == {("noisy", "warning")}
    assert "hunter2" not in logged


def test_an_address_that_is_taken_is_told_in_one_line_before_anything_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "gristmill", "serve", "--http", "--port", port]
        environment = {**os.environ, "GRISTMILL_STORE__PATH": str(tmp_path), "NO_COLOR": "1"}
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert f"cannot listen on 127.0.0.1:{port}" in done.stderr.splitlines()[-1]
