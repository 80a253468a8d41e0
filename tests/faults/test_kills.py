"""kill -9 at random points, again and again, on both stores: nothing acknowledged is lost, no write is made twice, nothing is left over."""

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.e2e.http.conftest import ROOT, Service, start
from tests.faults.conftest import PrepareStore
from tests.faults.promised_work import Promises, make_settings, settle
from tests.faults.survivors import find_family

CLIENTS = 4
KILLED = [
    pytest.param("sqlite", 3, marks=pytest.mark.timeout(600)),
    pytest.param("postgres", 2, marks=pytest.mark.timeout(600)),
    pytest.param("sqlite", 200, marks=[pytest.mark.thorough, pytest.mark.timeout(7_200)]),
    pytest.param("postgres", 200, marks=[pytest.mark.thorough, pytest.mark.timeout(7_200)]),
]


def send_until_killed(service: Service, promises: Promises, after: int) -> None:
    """Settles what is open and sends new programs, from several clients; kills the service at some point past the ``after``-th end."""
    ended = threading.Semaphore(0)
    todo = promises.list_open()
    failures: list[BaseException] = []

    def work() -> None:
        try:
            while True:
                settle(service, todo.pop() if todo else promises.add_work(), promises)
                ended.release()
        except httpx.TransportError:
            pass  # it was killed
        except BaseException as error:
            failures.append(error)
            raise
        finally:
            ended.release()

    threads = [threading.Thread(target=work) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for _ in range(after):
        assert ended.acquire(timeout=120), "no program ends"
    threading.Event().wait(random.random() / 20)  # in the middle of something
    family = find_family(service.process.pid)
    service.end(signal.SIGKILL)
    for thread in threads:
        thread.join(60)
    assert failures == []
    family.expect_nothing_left(service.config.state_dir)


def kill_while_starting(state: Path) -> None:
    environment = {**os.environ, "GRISTMILL_STORE__PATH": str(state), "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    command = [sys.executable, "-m", "tests.e2e.http.launch", str(state / "gristmill.toml")]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL) as process:
        threading.Event().wait(random.random() * 1.5)
        family = find_family(process.pid)
        process.kill()
    family.expect_nothing_left(state)


@pytest.mark.requirement("P4", "P6", "P7", "P14", "T12", "T170", "T172")
@pytest.mark.parametrize(("kind", "rounds"), KILLED)
def test_whenever_the_service_is_killed_each_program_ends_and_each_write_is_made_once(
    kind: str, rounds: int, new_state: Callable[[], Path], prepare_store: PrepareStore, tmp_path: Path
) -> None:
    prepare_store(kind)
    state, promises = new_state(), Promises(tmp_path / "written")
    settings = make_settings(promises.written, is_postgres=kind == "postgres")
    tokens: dict[str, str] | None = None
    for turn in range(rounds):
        with start(state, settings, tokens) as service:
            tokens = service.tokens
            send_until_killed(service, promises, random.randint(0, 12))
        if turn % 5 == 4:
            kill_while_starting(state)
    acknowledged = [work.outcome for work in promises.known if work.outcome is not None]
    with start(state, settings, tokens) as service:
        for work in promises.list_open():
            settle(service, work, promises)
        with service.client("ann") as client:
            for outcome in random.sample(acknowledged, min(len(acknowledged), 100)):
                kept = client.get(f"/executions/{outcome['id']}").json()["outcome"]
                assert {**kept, "tokens_saved": None} == {**outcome, "tokens_saved": None}  # counted after the answer
        with service.client("operator") as client:
            assert client.get("/audit/verify").json()["ok"]
            running = client.get("/executions", params={"status": "running"}).json()["executions"]
        family = find_family(service.process.pid)
        service.end()
    family.expect_nothing_left(state)
    assert running == []
    assert len(acknowledged) > rounds
    assert promises.count_writes() == {key: 1 for work in promises.known for key in work.writes}
