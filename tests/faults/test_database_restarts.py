"""A database that goes away and comes back under a running service: it says so, and what was refused runs once afterwards."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.http.conftest import start
from tests.faults.conftest import PrepareStore
from tests.faults.promised_work import Promises, make_settings, settle
from tests.faults.test_disk_and_store import wait_for_readiness
from tests.servers import postgres


@pytest.mark.timeout(600)
@pytest.mark.requirement("P7", "P13", "T114", "T170", "T173")
def test_a_database_that_restarts_is_used_again_and_no_write_is_lost_or_doubled(
    new_state: Callable[[], Path], prepare_store: PrepareStore, database: postgres.Server, tmp_path: Path
) -> None:
    prepare_store("postgres")
    promises = Promises(tmp_path / "written")
    with start(new_state(), make_settings(promises.written, is_postgres=True)) as service, service.client("ann") as client:
        settle(service, promises.add_work(), promises)
        wait_for_readiness(client, 200)
        refused = promises.add_work()
        database.stop()
        try:
            assert wait_for_readiness(client, 503)["reason"] == "store"
            answer = client.post("/execute", json=refused.request(), headers={"Idempotency-Key": refused.key})
            assert (answer.status_code, answer.json()["code"]) == (503, "store.unavailable"), answer.text
            assert client.get("/health").status_code == 200
        finally:
            database.start()
        wait_for_readiness(client, 200)
        for work in (refused, promises.add_work()):
            settle(service, work, promises)
        with service.client("operator") as operator:
            assert operator.get("/audit/verify").json()["ok"]
        service.end()
    assert promises.count_writes() == {key: 1 for work in promises.known for key in work.writes}
