"""Few descriptors: executions run or are told to come again, readiness says so, and nothing is left open."""

import os
import socket
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.e2e.http.conftest import SETTINGS, Service, start

MANY = 24
FEW = [pytest.param(64, marks=pytest.mark.thorough), 128, pytest.param(256, marks=pytest.mark.thorough)]


def count_open(service: Service) -> int:
    return len(os.listdir(f"/proc/{service.process.pid}/fd"))


def execute_many(service: Service) -> Counter[int]:
    """The statuses of executions that are sent at once, each over a connection of its own; 0 is a closed connection."""
    found: Counter[int] = Counter()

    def execute() -> None:
        try:
            with service.client("ann") as client:
                found[client.post("/execute", json={"code": "1 + 1"}).status_code] += 1
        except httpx.TransportError:
            found[0] += 1

    threads = [threading.Thread(target=execute) for _ in range(MANY)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return found


@pytest.mark.requirement("T115")
@pytest.mark.parametrize("limit", FEW)
def test_with_few_descriptors_executions_run_or_are_told_to_come_again_and_none_leaks(
    new_state: Callable[[], Path], limit: int
) -> None:
    command = ("-m", "tests.faults.launch_limited", str(limit))
    with start(new_state(), SETTINGS, command=command) as service:
        statuses, open_after = Counter[int](), list[int]()
        for _ in range(4):
            statuses += execute_many(service)
            with service.client() as client:
                assert client.get("/health").status_code == 200
                ready, told = client.get("/ready"), client.post("/execute", json={"code": "1"})
            assert told.status_code in (200, 503)
            assert (ready.status_code, told.status_code) != (200, 503), "ready, and yet refused"
            open_after.append(count_open(service))
        log = service.end()
    assert set(statuses) <= {200, 503, 0}, statuses
    assert statuses[200] > 0
    assert open_after[3] <= open_after[1] + 12, open_after  # control groups of the first rounds are kept for later ones
    assert "fewer connections than configured" in log
    assert len(log) < 200_000


@pytest.mark.requirement("T115")
def test_more_connections_than_descriptors_fill_no_log_and_probes_are_answered(new_state: Callable[[], Path]) -> None:
    command = ("-m", "tests.faults.launch_limited", "128")
    with start(new_state(), SETTINGS, command=command) as service, ExitStack() as crowd:
        for _ in range(400):
            crowd.enter_context(socket.create_connection(service.address, timeout=30)).sendall(b"GET /tools HTTP/1.1\r\n")
        for _ in range(5):
            with service.client() as client:
                assert client.get("/health").status_code == 200
        log = service.end()
    assert len(log) < 200_000
