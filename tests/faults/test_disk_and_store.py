"""A disk that is full and a store that is locked: executions are refused with the reason, and go on afterwards."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.http.conftest import Start


def wait_for_readiness(client: Any, status: int) -> dict[str, Any]:
    """What readiness says when it has this status; the test's time limit ends the wait."""
    while (answer := client.get("/ready")).status_code != status:
        pass
    return answer.json()


@pytest.mark.requirement("T114")
def test_on_a_full_disk_nothing_is_ready_and_afterwards_everything_is(small_disk: Path, starting: Start) -> None:
    with starting(state=small_disk) as service, service.client("ann") as client:
        assert client.post("/execute", json={"code": "1"}).status_code == 200
        assert client.get("/ready").status_code == 200
        filler = small_disk / "filler"
        with filler.open("wb") as file:
            try:
                while True:
                    file.write(bytes(1 << 16))
                    file.flush()
            except OSError:
                pass
        assert wait_for_readiness(client, 503)["reason"] == "disk"
        headers = {"Idempotency-Key": "full"}
        refused = client.post("/execute", json={"code": "1", "context": {"a": "x" * 100_000}}, headers=headers)
        assert refused.status_code in (200, 503)
        assert client.get("/health").status_code == 200
        filler.unlink()
        wait_for_readiness(client, 200)
        again = client.post("/execute", json={"code": "1", "context": {"a": "x" * 100_000}}, headers=headers)
        assert again.json().get("result") == 1, again.text


@pytest.mark.requirement("T114")
def test_a_locked_store_is_not_ready_and_what_was_refused_runs_afterwards(starting: Start) -> None:
    with starting() as service, service.client("ann") as client:
        assert client.get("/ready").status_code == 200
        path = service.config.state_dir / "gristmill.db"
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert wait_for_readiness(client, 503)["reason"] == "store"
        other.execute("ROLLBACK")
        other.close()
        wait_for_readiness(client, 200)
        assert client.post("/execute", json={"code": "1"}).json()["result"] == 1
