"""Two services over one store, of which one is killed: the other settles what both have promised, and writes nothing twice."""

import random
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.e2e.http.conftest import Service, start
from tests.faults.conftest import PrepareStore
from tests.faults.promised_work import Promises, make_settings, settle
from tests.faults.survivors import find_family

KINDS = ["sqlite", pytest.param("postgres", marks=pytest.mark.thorough)]


def send_some(service: Service, promises: Promises, count: int) -> None:
    """Sends programs until some have ended, or until the service is killed."""
    try:
        for _ in range(count):
            settle(service, promises.add_work(), promises)
    except httpx.TransportError:
        pass


@pytest.mark.timeout(600)
@pytest.mark.requirement("P6", "P7", "T171")
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_killed_process_has_promised_is_settled_through_the_other(
    kind: str, new_state: Callable[[], Path], prepare_store: PrepareStore, tmp_path: Path
) -> None:
    prepare_store(kind)
    state, promises = new_state(), Promises(tmp_path / "written")
    settings = make_settings(promises.written, is_postgres=kind == "postgres")
    with start(state, settings) as living, start(state, settings, living.tokens) as killed:
        family = find_family(killed.process.pid)
        threads = [threading.Thread(target=send_some, args=(one, promises, 12)) for one in (living, killed, killed)]
        for thread in threads:
            thread.start()
        while sum(promises.count_writes().values()) < 8:
            assert any(thread.is_alive() for thread in threads)
        threading.Event().wait(random.random() / 20)  # in the middle of something
        killed.end(signal.SIGKILL)
        for thread in threads:
            thread.join(100)
        wait_for = promises.list_open()
        for work in wait_for:
            settle(living, work, promises)
        with living.client("ann") as client:  # the same keys, through the process that did not run them
            for work in promises.known:
                assert work.outcome is not None
                again = client.get(f"/executions/{work.outcome['id']}").json()
                assert again["outcome"]["result"] == "whole"
        with living.client("operator") as client:
            assert client.get("/audit/verify").json()["ok"]
        family.expect_nothing_left(state / "nothing is mounted below")
        living.end()
    assert promises.count_writes() == {key: 1 for work in promises.known for key in work.writes}
