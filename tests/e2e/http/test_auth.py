"""Who may do what: no token, wrong tokens, scopes, revoked and expired tokens, and where a token is needed at all."""

import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path

import httpx2 as httpx
import pytest

from gristmill.config.tree import load_config
from gristmill.runtime.open.open_records import open_config_store
from gristmill.serve.access_tokens import TokenRegister
from tests.e2e.http.conftest import ROOT, SETTINGS, Service, Start
from tests.e2e.http.test_mcp import INITIALIZE
from tests.e2e.test_cli import command_line

MATRIX = [
    ("POST", "/execute", {"execute"}),
    ("GET", "/tools", {"execute", "read", "admin"}),
    ("GET", "/tools/search?query=x", {"execute", "read", "admin"}),
    ("GET", "/sessions", {"execute", "read", "admin"}),
    ("POST", "/sessions", {"execute"}),
    ("GET", "/skills", {"execute", "read", "admin"}),
    ("GET", "/executions", {"execute", "read", "admin"}),
    ("GET", "/approvals", {"execute", "read", "approve", "admin"}),
    ("POST", "/approvals/none", {"approve"}),
    ("GET", "/audit", {"read", "admin"}),
    ("GET", "/audit/verify", set[str]()),  # of all tenants: for the operator
    ("GET", "/stats", {"read", "admin"}),
    ("GET", "/metrics", set[str]()),
]
BODIES = {"/execute": {"code": "1"}, "/sessions": {}, "/approvals/none": {"approve": "none"}}
PEOPLE = {"ann": {"execute"}, "reader": {"read"}, "boss": {"approve"}, "admin": {"execute", "read", "approve", "admin"}}


@pytest.mark.requirement("T42")
@pytest.mark.parametrize(("method", "path", "scopes"), MATRIX)
def test_each_route_opens_to_its_scopes_only(service: Service, method: str, path: str, scopes: set[str]) -> None:
    for who, has in PEOPLE.items():
        with service.client(who) as client:
            status = client.request(method, path, json=BODIES.get(path)).status_code
        assert (who, status == 403) == (who, not has & scopes), f"{who} got {status}"


@pytest.mark.requirement("T42")
@pytest.mark.parametrize("header", ["Bearer gm_000000000000_wrong", "Bearer x.y.z", "Basic YTpi", "Bearer", "gm_x"])
def test_a_wrong_token_opens_nothing_even_on_this_machine(service: Service, header: str) -> None:
    with service.client(headers={"Authorization": header}) as client:
        answer = client.post("/execute", json={"code": "1"})
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
    assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.requirement("T42")
def test_a_known_id_with_another_secret_opens_nothing(service: Service) -> None:
    id_ = service.tokens["ann"].split("_")[1]
    with service.client(headers={"Authorization": f"Bearer gm_{id_}_{'A' * 43}"}) as client:
        assert client.get("/tools").status_code == 401


def test_this_machine_needs_no_token_but_may_not_approve(service: Service) -> None:
    with service.client() as client:
        assert client.post("/execute", json={"code": "1"}).json()["result"] == 1
        assert client.get("/audit/verify").status_code == 200
        assert client.post("/approvals/none", json={"approve": "all"}).status_code == 403


@pytest.mark.requirement("T42")
@pytest.mark.parametrize("header", ["X-Forwarded-For", "X-Forwarded-Proto", "Forwarded", "X-Real-IP", "Via", "CF-Connecting-IP"])
def test_whoever_comes_through_a_proxy_needs_a_token(service: Service, header: str) -> None:
    with service.client(headers={header: "127.0.0.1"}) as client:
        assert client.get("/tools").status_code == 401


@pytest.mark.requirement("T42")
@pytest.mark.parametrize(("version", "status"), [("1.0", b"401"), ("1.1", b"200")])
def test_a_proxy_that_adds_no_header_is_told_by_its_protocol(service: Service, version: str, status: bytes) -> None:
    host, port = service.address
    with socket.create_connection((host, port), timeout=30) as connection:
        head = f"GET /whoami HTTP/{version}\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n"
        connection.sendall(head.encode())  # as nginx asks by default, with the address of the service as the host
        assert connection.recv(1 << 16).split()[1] == status


@pytest.mark.requirement("T42")
def test_a_token_can_be_required_on_this_machine_too(starting: Start) -> None:
    with starting(SETTINGS + "require_token = true\n") as service:
        with service.client() as client:
            assert client.get("/tools").status_code == 401
            assert client.get("/health").status_code == 200
        with service.client("ann") as client:
            assert client.get("/tools").status_code == 200


@pytest.mark.requirement("T42")
@pytest.mark.parametrize("revoked", [False, True])
def test_an_address_beyond_this_machine_needs_tokens_to_start(tmp_path: Path, revoked: bool) -> None:
    async def make() -> None:
        async with open_config_store(load_config(store={"path": str(tmp_path)})) as store:
            _, made = await TokenRegister(store).create("gone")
            await TokenRegister(store).revoke(made.id)

    if revoked:
        asyncio.run(make())
    environment = {
        **os.environ, "GRISTMILL_STORE__PATH": str(tmp_path), "GRISTMILL_SERVE__HOST": "0.0.0.0",
        "GRISTMILL_SERVE__PORT": "0", "PYTHONPATH": str(ROOT / "src"),
    }  # fmt: skip
    code = "import sys\nfrom gristmill.serve.cli.verbs.operate.serve_http import serve_http\nserve_http()"
    done = subprocess.run([sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "gristmill tokens create" in done.stderr


@pytest.mark.requirement("T42")
def test_beyond_this_machine_every_request_needs_a_token(starting: Start) -> None:
    with starting(SETTINGS + 'host = "0.0.0.0"\n') as service:
        port = service.address[1]
        for host in ("mill.example.com", f"127.0.0.1:{port}"):
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers={"Host": host}) as client:
                assert client.get("/tools").status_code == 401
                token = {"Authorization": f"Bearer {service.tokens['ann']}"}
                assert client.get("/tools", headers=token).status_code == 200
                mcp = {"Accept": "application/json, text/event-stream", **token}
                assert client.post("/mcp", json=INITIALIZE, headers=mcp).status_code == 200


@pytest.mark.requirement("T42")
def test_a_revoked_or_expired_token_opens_nothing(service: Service) -> None:
    async def make() -> tuple[str, str]:
        async with open_config_store(service.config) as store:
            tokens = TokenRegister(store)
            old, _ = await tokens.create("old", scopes=("execute",), seconds=-1.0)
            gone, made = await tokens.create("gone", scopes=("execute",))
            await tokens.revoke(made.id)
            return old, gone

    for token in asyncio.run(make()):
        with service.client(headers={"Authorization": f"Bearer {token}"}) as client:
            assert client.get("/tools").status_code == 401


@pytest.mark.requirement("T42")
def test_only_digests_of_tokens_are_on_disk(service: Service) -> None:
    kept = b"".join(path.read_bytes() for path in service.config.state_dir.glob("gristmill.db*"))
    assert service.tokens["ann"].split("_")[1].encode() in kept  # the id
    assert [name for name, token in service.tokens.items() if token.split("_", 2)[2].encode() in kept] == []


def test_tokens_are_made_listed_and_revoked_on_the_command_line(tmp_path: Path) -> None:
    environment = {**os.environ, "GRISTMILL_STORE__PATH": str(tmp_path), "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1"}

    def gristmill(*arguments: str) -> str:
        command = command_line("tokens", *arguments)
        return subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
        ).stdout

    token = gristmill("create", "ann", "--tenant", "acme", "--scope", "execute", "--scope", "read").strip()
    id_ = token.split("_")[1]
    assert token.startswith("gm_")
    listed = gristmill("list")
    assert id_ in listed
    assert token not in listed
    assert "good" in listed
    gristmill("revoke", id_)
    assert "revoked" in gristmill("list")
