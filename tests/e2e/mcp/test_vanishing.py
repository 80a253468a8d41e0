"""The client process is killed in the middle of a run: the sandbox is gone within a second, what was done stays on record."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gristmill import Runtime
from tests.e2e.mcp.conftest import environ
from tests.e2e.mcp.test_stdio import alive, below

pytestmark = pytest.mark.anyio

SECONDS = 1.5
"""A second, and half of one for a busy machine to look."""

CLIENT = """
import json, subprocess, sys
serve = subprocess.Popen([sys.executable, "-m", "gristmill", "serve", "--config", sys.argv[1]], stdin=-1, stdout=-1)
def send(**message):
    serve.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\\n")
    serve.stdin.flush()
client = {"name": "c", "version": "1"}
send(id=0, method="initialize", params={"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
serve.stdout.readline()
send(method="notifications/initialized")
arguments = {"code": sys.argv[2]}
send(id=1, method="tools/call", params={"name": "execute_code", "arguments": arguments, "_meta": {"progressToken": 1}})
while b"begun" not in serve.stdout.readline():
    pass
print(serve.pid, flush=True)
serve.wait()
"""
CALL = "from servers.crm import get\nx = get(number=5)\n"
ENDLESS = CALL + "print('begun')\nwhile True: pass"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def config(state: Path) -> Path:
    folder = state / "vanishing"
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    (folder / "crm_tools.py").write_text("def get(number: int) -> dict:\n    return {'number': number}\n")
    file = folder / "gristmill.toml"
    file.write_text(f'[servers.crm]\npython = "crm_tools"\n[policy]\nallow = ["*"]\n[store]\npath = "{folder / "state"}"\n')
    return file


@pytest.mark.requirement("M2")
async def test_a_killed_client_leaves_no_sandbox_and_a_whole_journal(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(config.parent), *sys.path])
    env = environ() | {"PYTHONPATH": f"{environ()['PYTHONPATH']}:{config.parent}"}
    with subprocess.Popen([sys.executable, "-c", CLIENT, str(config), ENDLESS], stdout=subprocess.PIPE, env=env) as client:
        assert client.stdout
        serve = int(client.stdout.readline())
        sandboxes = below(serve)
        assert sandboxes
        client.send_signal(signal.SIGKILL)
        client.wait(10)
        left = _left(sandboxes | {serve})
    assert not left & sandboxes

    _left({serve}, 20)  # it closes its store in good order
    async with Runtime.open(config) as runtime:
        begun = next(entry.record for entry in await runtime.audit.list() if entry.record.kind == "execution")
        assert begun.status == "cancelled"
        resumed = await runtime.execute(CALL + "x", resume=begun.id)
        assert (await runtime.audit.verify()).ok
    assert resumed.replay
    assert (resumed.result, resumed.replay.answered) == ({"number": 5}, 1)


def _left(processes: set[int], seconds: float = SECONDS) -> set[int]:
    deadline = time.monotonic() + seconds
    while (left := {pid for pid in processes if alive(pid)}) and time.monotonic() < deadline:
        os.sched_yield()
    return left
