"""The door as a process: nothing but the protocol on stdout, bad input answered, nothing left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from gristmill.serve.mcp.transport.mcp_over_stdio import LINE_BYTES
from tests.e2e.mcp.conftest import environ

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


class Peer:
    """A client that writes what it likes."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process

    def write(self, raw: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(raw)
        self.process.stdin.flush()

    def send(self, message: dict[str, Any]) -> None:
        self.write(json.dumps(message).encode() + b"\n")

    def read(self) -> dict[str, Any]:
        """The next line; it must be a message."""
        assert self.process.stdout
        message: Any = json.loads(self.process.stdout.readline())
        assert message["jsonrpc"] == "2.0"
        return cast("dict[str, Any]", message)

    def answer(self, number: int) -> dict[str, Any]:
        """The answer to request ``number``; notifications before it are skipped."""
        while (message := self.read()).get("id") != number:
            pass
        return message

    def shake_hands(self) -> None:
        self.send(INITIALIZE)
        assert self.answer(0)["result"]["serverInfo"]["name"] == "gristmill"
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, number: int, **arguments: Any) -> None:
        params = {"name": "execute_code", "arguments": arguments}
        self.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})


@contextmanager
def serving(folder: Path) -> Generator[Peer]:
    config = folder / "gristmill.toml"
    config.write_text(f'[store]\npath = "{folder / "state"}"\n')
    folder.chmod(0o755)
    command = [sys.executable, "-m", "gristmill", "serve", "--config", str(config)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ()) as process:
        try:
            yield Peer(process)
        finally:
            process.kill()


@pytest.fixture
def folder(state: Path, request: pytest.FixtureRequest) -> Path:
    made = state / f"stdio-{abs(hash(request.node.name))}"
    made.mkdir(exist_ok=True)
    return made


@pytest.mark.requirement("M7")
def test_what_is_no_message_is_answered_and_the_next_one_is_served(folder: Path) -> None:
    with serving(folder) as peer:
        peer.shake_hands()
        for junk in (b"this is no json\n", b'{"jsonrpc": "2.0"}\n', b"[]\n", b"\xff\xfe\n", b"5\n"):
            peer.write(junk)
            assert peer.read()["error"]["code"] == -32700
        peer.write(b"\n")
        peer.call(1, code="6 * 7")
        assert peer.answer(1)["result"]["structuredContent"]["result"] == 42


@pytest.mark.requirement("M7")
def test_a_huge_line_is_refused_without_being_kept(folder: Path) -> None:
    with serving(folder) as peer:
        peer.shake_hands()
        peer.call(0, code="0")
        peer.answer(0)
        before = _peak_mb(peer.process.pid)
        for _ in range(25):
            peer.write(b"x" * LINE_BYTES)
        peer.write(b"\n")
        assert peer.read()["error"]["code"] == -32600
        assert _peak_mb(peer.process.pid) - before < 100
        peer.call(1, code="1")
        assert peer.answer(1)["result"]["structuredContent"]["result"] == 1


def test_what_a_program_prints_never_reaches_the_wire(folder: Path) -> None:
    with serving(folder) as peer:
        peer.shake_hands()
        peer.call(
            1, code="import os, sys\nprint('{\"jsonrpc\": 1}')\nos.write(1, b'raw')\nos.write(2, b'raw')\nsys.stderr.write('err')"
        )
        assert not peer.answer(1)["result"]["isError"]


@pytest.mark.requirement("M7")
def test_a_cancelled_call_is_not_answered_and_others_are(folder: Path) -> None:
    with serving(folder) as peer:
        peer.shake_hands()
        peer.call(1, code="while True: pass")
        peer.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        peer.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        peer.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "nonsense"}})
        peer.call(2, code="2")
        while (message := peer.read()).get("id") != 2:
            assert message.get("id") != 1
        assert message["result"]["structuredContent"]["result"] == 2


@pytest.mark.parametrize("ending", ["closes its end", "is killed with the gateway"])
def test_nothing_is_left_when_the_client_vanishes_in_the_middle_of_a_run(folder: Path, ending: str) -> None:
    with serving(folder) as peer:
        peer.shake_hands()
        token = {"progressToken": 1}
        params = {"name": "execute_code", "arguments": {"code": "print('begun')\nwhile True: pass"}, "_meta": token}
        peer.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        assert "begun" in peer.read()["params"]["message"]
        processes = below(peer.process.pid)
        assert processes
        if ending == "closes its end":
            assert peer.process.stdin
            peer.process.stdin.close()
        else:
            peer.process.send_signal(signal.SIGKILL)
        peer.process.wait(20)
        left = _still(processes)
    assert not left


@pytest.mark.requirement("T114")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_server_and_what_ran_is_on_record(folder: Path, number: int) -> None:
    with serving(folder) as peer:
        peer.shake_hands()
        params = {
            "name": "execute_code",
            "arguments": {"code": "print('begun')\nwhile True: pass"},
            "_meta": {"progressToken": 1},
        }
        peer.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        assert "begun" in peer.read()["params"]["message"]
        processes = below(peer.process.pid)
        peer.process.send_signal(number)
        assert peer.process.wait(30) == 0
        left = _still(processes)
    assert not left
    command = [sys.executable, "-m", "gristmill", "audit", "list", "--json", "--config", str(folder / "gristmill.toml")]
    listed = subprocess.run(command, capture_output=True, text=True, env=environ(), timeout=60, check=True).stdout
    assert '"interrupted"' in listed


def test_without_any_input_the_server_ends(folder: Path) -> None:
    command = [sys.executable, "-m", "gristmill", "serve", "--config", str(folder / "gristmill.toml")]
    (folder / "gristmill.toml").write_text(f'[store]\npath = "{folder / "state"}"\n')

    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=environ(), timeout=60, check=False)

    assert (done.returncode, done.stdout) == (0, b"")


def _peak_mb(pid: int) -> int:
    """The most memory that the process ever had."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


def below(root: int) -> set[int]:
    """Every process that descends from ``root``."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found = {root}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {root}


def _still(processes: set[int]) -> set[int]:
    """Those that are alive when they had every chance to end."""
    deadline = time.monotonic() + 20
    while (left := {pid for pid in processes if alive(pid)}) and time.monotonic() < deadline:
        os.sched_yield()
    return left


def alive(pid: int) -> bool:
    """Whether the process runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
