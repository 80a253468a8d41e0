"""A machine that has no more processes: executions run or are refused with the reason, and go on afterwards."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gristmill.sandbox.linux import cgroups, group_folders
from tests.attack.wall import wait_until
from tests.e2e.http.conftest import SETTINGS, start
from tests.faults.test_descriptors import execute_many
from tests.faults.test_disk_and_store import wait_for_readiness


@pytest.mark.timeout(600)
@pytest.mark.requirement("T16", "T114", "T173")
def test_without_free_processes_executions_are_told_to_come_again_and_run_later(new_state: Callable[[], Path]) -> None:
    group = cgroups.prepare_hierarchy(f"gristmill-few-{os.getpid()}")
    if group.version != "v1":
        pytest.skip("needs cgroups of version 1 that are ours to write")
    pids = Path(group.folders["pids"])
    program = (
        f"import os, runpy, sys; open('{pids}/cgroup.procs', 'w').write(str(os.getpid())); "
        "sys.argv = ['launch', sys.argv[1]]; runpy.run_module('tests.e2e.http.launch', run_name='__main__')"
    )
    try:
        with start(new_state(), SETTINGS, command=("-c", program)) as service:
            with service.client("ann") as client:
                assert client.post("/execute", json={"code": "1 + 1"}).json()["result"] == 2
                (pids / "pids.max").write_text((pids / "pids.current").read_text())  # no more than there are
                found = execute_many(service)
                assert set(found) <= {200, 503}, found
                assert client.get("/health").status_code == 200
                (pids / "pids.max").write_text("max")
                wait_for_readiness(client, 200)
                assert execute_many(service) == {200: sum(found.values())}
            log = service.end()
        assert "Traceback" not in log, log
    finally:
        wait_until(lambda: group_folders.remove_group_trees(group.unique_folders()), "the group is removed")
