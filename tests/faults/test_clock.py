"""A clock that jumps by 40 days, forward and back, while the service runs and across a restart: nothing is deleted."""

from collections.abc import Callable
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.e2e.http.conftest import SETTINGS, Service, start

DAYS_40 = 40 * 86_400.0
PLAN = "from servers import crm\ncrm.send(to='ann')"


def read_kept(service: Service) -> tuple[object, ...]:
    """What must survive: a file, a variable in the store, a plan, an outcome."""
    with service.client("ann") as client, service.client("boss") as boss:
        code = "from session import kv\n[open('kept.txt').read(), kv['kept']]"
        outcome = client.post("/execute", json={"code": code, "session": "old"}).json()
        return outcome.get("result"), len(boss.get("/approvals").json())


def is_trusted(client: httpx.Client) -> bool:
    return "\nclock_trusted 1.0" in client.get("/metrics").text


@pytest.mark.timeout(600)
@pytest.mark.requirement("T136")
def test_a_clock_that_jumps_by_40_days_deletes_nothing_while_it_runs_and_when_it_starts(
    new_state: Callable[[], Path], tmp_path: Path
) -> None:
    offset, state = tmp_path / "offset", new_state()
    command = ("-m", "tests.faults.launch_shifted", str(offset))
    offset.write_text("0")
    with start(state, SETTINGS, command=command) as service:
        tokens = service.tokens
        with service.client("ann") as client, service.client("operator") as operator:
            code = "from session import kv\nkv['kept'] = 1\nopen('kept.txt', 'w').write('kept')"
            assert client.post("/execute", json={"code": code, "session": "old"}).json()["status"] == "ok"
            assert client.post("/execute", json={"code": PLAN}).json()["status"] == "awaiting_approval"
            before = read_kept(service)
            assert before == (["kept", 1], 1)
            assert is_trusted(operator)
            offset.write_text(str(DAYS_40))
            while is_trusted(operator):
                pass
            assert read_kept(service) == before
        service.end()
    with start(state, SETTINGS, tokens, command) as service:  # it starts with the wrong clock
        assert read_kept(service) == before
        service.end()
    offset.write_text("0")
    with start(state, SETTINGS, tokens, command) as service:
        assert read_kept(service) == before
        with service.client("operator") as operator:
            assert is_trusted(operator)
        service.end()
