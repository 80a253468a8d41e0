"""The dashboard with a real Prometheus, which scrapes a real service: every panel's query returns data after some traffic."""

import json
import re
import socket
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from tests.deploy.contained import DEPLOY
from tests.e2e.http.conftest import SETTINGS, Service, start
from tests.servers.prometheus import promtool

ROLLOUT = """
[rollout]
name = "code-mode"
[rollout.arms.direct]
mode = "direct"
[rollout.arms.code]
mode = "code"
[[rollout.stages]]
percent = 100
[[rollout.guardrails]]
when = "error_rate > 60 %"
"""
VARIABLES = {"$instance": ".*", "$tenant": ".*", "$arm": ".*", "$price": "3", "[$__rate_interval]": "[1m]"}
NEEDS_MORE = {"Plans by what was decided", "Values masked"}
"""Panels about decisions of people and about personal data, which this traffic has none of."""
MOST_ROUNDS = 120
JOINED = "from servers.crm import find\nrows = [find('x' * n) for n in range(3)]\nlen(rows)"

pytestmark = pytest.mark.thorough


@pytest.fixture
def service(tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    folder = tmp_path_factory.mktemp("board")
    folder.chmod(0o755)
    with start(folder, SETTINGS + ROLLOUT) as running:
        yield running


@pytest.fixture
def prometheus(service: Service, tmp_path: Path) -> Generator[str]:
    """A Prometheus that scrapes the service every second; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "token").write_text(service.tokens["operator"])
    scrape = {
        "job_name": "gristmill", "static_configs": [{"targets": [service.url.removeprefix("http://")]}],
        "authorization": {"credentials_file": str(tmp_path / "token")},
    }  # fmt: skip
    file = tmp_path / "prometheus.yml"  # JSON is YAML
    file.write_text(json.dumps({"global": {"scrape_interval": "1s", "scrape_timeout": "1s"}, "scrape_configs": [scrape]}))
    program = Path(promtool()).with_name("prometheus")
    address = f"127.0.0.1:{port}"
    command = [
        str(program), f"--config.file={file}", f"--storage.tsdb.path={tmp_path / 'data'}", f"--web.listen-address={address}",
    ]  # fmt: skip
    with (tmp_path / "log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as running:
        try:
            yield f"http://{address}"
        finally:
            running.kill()


def list_queries() -> list[tuple[str, str]]:
    board = json.loads((DEPLOY / "grafana" / "dashboards" / "gristmill.json").read_text())
    found = [
        (panel["title"], target["expr"]) for panel in board["panels"] if panel["type"] != "row" for target in panel["targets"]
    ]
    for name, value in VARIABLES.items():
        found = [(title, expression.replace(name, value)) for title, expression in found]
    return found


def make_traffic(client: httpx.Client, number: int) -> None:
    turn = {"id": f"t{number}", "conversation": f"c{number}", "status": "ok", "seconds": 0.1, "used_code": number % 3 > 0}
    assert client.post("/rollout/outcomes", json=turn).status_code == 204
    client.post("/execute", json={"code": JOINED})
    client.post("/execute", json={"code": "1 / 0" if number % 2 else f"'{number}' * 2000"})
    client.post("/execute", json={"code": "from servers.crm import find, send\nfind('x')\nsend('x')"})
    client.post("/execute", json={"code": "import os\nos.system('x')\nwhile True: pass", "limits": {"seconds": 0.1}})


def test_every_panel_has_data(service: Service, prometheus: str) -> None:
    with service.client("operator") as ops:
        assert ops.post("/rollout/steps", json={"step": "start"}).status_code == 200
    transport = httpx.HTTPTransport(retries=20)
    left = dict.fromkeys((title, query) for title, query in list_queries() if title not in NEEDS_MORE)
    assert len(left) > 30
    with service.client("ann") as ann, httpx.Client(base_url=prometheus, transport=transport, timeout=30) as asked:
        for number in range(MOST_ROUNDS):
            make_traffic(ann, number)
            for title, query in tuple(left):
                answer = asked.get("/api/v1/query", params={"query": query}).json()
                assert answer["status"] == "success", (title, answer)
                rows: list[dict[str, Any]] = answer["data"]["result"]
                if any(re.fullmatch(r"-?[\d.e+-]+", row["value"][1]) for row in rows):
                    del left[title, query]
            if not left:
                break
    assert list(left) == []
