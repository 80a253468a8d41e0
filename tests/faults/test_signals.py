"""Signals to end in the middle of work: what was acknowledged has an outcome or can be resumed, and nothing is left running."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from gristmill.http_client import Client
from tests.e2e.http.conftest import SETTINGS, Start

WORK = "import time\ntime.sleep(0.05)\n'whole'"
MIDDLE = [
    signal.SIGHUP,
    pytest.param(signal.SIGTERM, marks=pytest.mark.thorough),
    pytest.param(signal.SIGINT, marks=pytest.mark.thorough),
    pytest.param(signal.SIGKILL, marks=pytest.mark.thorough),
]


@pytest.mark.requirement("T114")
@pytest.mark.parametrize("number", MIDDLE)
def test_what_was_acknowledged_before_a_signal_is_whole_or_can_be_resumed(
    starting: Start, new_state: Callable[[], Path], number: int
) -> None:
    state = new_state()
    with starting(SETTINGS + "drain_seconds = 0.2\n", state=state) as service:
        tokens = service.tokens
        with Client(service.url, token=tokens["ann"]) as client:
            promised = [client.start(WORK) for _ in range(20)]
        service.end(number)
    with starting(state=state, tokens=tokens) as service, Client(service.url, token=tokens["ann"]) as client:
        for id_ in promised:
            found = client.execution(id_)
            assert found["status"] in ("ok", "interrupted")
            outcome = found["outcome"]["result"] if found["status"] == "ok" else client.execute(resume=id_).result
            assert outcome == "whole"
