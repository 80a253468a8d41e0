"""What a running service logs: every request with its id and execution, as JSON, and nothing that was confided to it."""

import json
import tempfile
from pathlib import Path

from tests.e2e.http.conftest import start

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
