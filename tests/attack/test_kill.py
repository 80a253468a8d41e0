"""Kill tests: whatever dies first, at whatever moment, nothing of a run stays behind."""

import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest

from gristmill.sandbox.jails.keeper_process import LAUNCHER as KEEPER
from tests.attack.conftest import open_to_others
from tests.attack.wall import PATIENCE, reachable, wait_until

HOST = Path(__file__).parent / "programs" / "host.py"
LEVELS = ["namespaces", "landlock"]
ROUNDS = int(os.environ.get("GRISTMILL_ATTACK_KILLS", "2"))


@dataclass(frozen=True)
class Host:
    """A gateway under load, in a process of its own."""

    process: subprocess.Popen[bytes]
    keeper: int
    template: list[int]
    cgroups: list[str]
    state: Path

    def tree(self) -> set[tuple[int, str]]:
        """Everything below it, with start times so that a reused pid is not mistaken for a survivor."""
        found: set[tuple[int, str]] = set()
        todo = [self.process.pid]
        while todo:
            for child in _children(todo.pop()):
                if (start := _start(child)) is not None:
                    found.add((child, start))
                todo.append(child)
        return found

    def say(self, line: str) -> dict[str, Any]:
        """Give it an order and hear its answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(_line(self.process.stdout))


@contextmanager
def host(state: Path, level: str, callers: int = 6) -> Generator[Host]:
    if level == "landlock" and os.geteuid() == 0 and not open_to_others(Path(os.path.realpath(sys.executable))):
        pytest.skip("allowed: nobody can reach this interpreter; tools/attack.py tests this level from a copy")
    reachable(state)
    process = subprocess.Popen(
        [sys.executable, "-B", str(HOST), str(state), level, str(callers)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        ready = json.loads(_line(process.stdout))
        yield Host(process, ready["keeper"], ready["template"], ready["cgroups"], state)
    finally:
        process.kill()
        process.communicate()


def _line(stream: IO[bytes]) -> bytes:
    assert select.select([stream], [], [], PATIENCE)[0], "no word from the host"
    line = stream.readline()
    assert line, "the host ended"
    return line


def _children(pid: int) -> list[int]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")
        return [int(word) for t in threads for word in Path(f"/proc/{pid}/task/{t}/children").read_text().split()]
    except OSError:
        return []


def _start(pid: int) -> str | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


def _alive(processes: set[tuple[int, str]]) -> set[tuple[int, str]]:
    return {(pid, start) for pid, start in processes if _start(pid) == start}


def _mounts() -> str:
    return Path("/proc/self/mounts").read_text()


def _nothing_left(gateway: Host, family: set[tuple[int, str]]) -> None:
    wait_until(lambda: not _alive(family), "every process is gone")
    wait_until(lambda: not any(map(os.path.exists, gateway.cgroups)), "every cgroup folder is gone", seconds=20)


@pytest.mark.requirement("T12", "P4")
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("round_", range(ROUNDS))
def test_nothing_survives_the_sudden_death_of_the_host(tmp_path: Path, level: str, round_: int) -> None:
    before = _mounts()
    with host(tmp_path, level) as gateway:
        time.sleep(random.random() / 2)
        family = gateway.tree()
        assert len(family) > 5, "the control: there was something to leave behind"
        gateway.process.kill()
        gateway.process.wait()
        # Forked in the very moment of the kill: look again below all that were there.
        family |= {(child, start) for pid, _ in family for child in _children(pid) if (start := _start(child))}
        _nothing_left(gateway, family)
    assert _mounts() == before


@pytest.mark.requirement("T12", "P4")
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("victim", ["keeper", "template", "both"])
def test_the_gateway_goes_on_after_the_sudden_death_of_its_helpers(tmp_path: Path, level: str, victim: str) -> None:
    with host(tmp_path, level) as gateway:
        time.sleep(random.random() / 2)
        family = gateway.tree()
        victims = {"keeper": [gateway.keeper], "template": gateway.template, "both": [gateway.keeper, *gateway.template]}[victim]
        for pid in victims:
            with suppress(ProcessLookupError):  # the template goes with its keeper
                os.kill(pid, signal.SIGKILL)
        old = {(pid, start) for pid, start in family if pid in victims}
        wait_until(lambda: not _alive(old), "the victim is gone")
        assert gateway.say("again") == {"result": 42, "status": "ok"}
        assert gateway.process.wait(PATIENCE) == 0
        _nothing_left(gateway, family | old)


@pytest.mark.requirement("T12", "P4")
@pytest.mark.parametrize("level", LEVELS)
def test_nothing_survives_the_death_of_the_keeper_and_then_the_host(tmp_path: Path, level: str) -> None:
    with host(tmp_path, level) as living, host(tmp_path, level) as gateway:
        family = gateway.tree()
        os.kill(gateway.keeper, signal.SIGKILL)
        gateway.process.kill()
        gateway.process.wait()
        wait_until(lambda: not _alive(family), "every process is gone")
        assert all(map(os.path.exists, gateway.cgroups)), "the control: nothing was left to remove the groups"
        with host(tmp_path, level, callers=0) as next_one:
            assert not any(map(os.path.exists, gateway.cgroups)), "the next start left the groups of a dead gateway"
            assert all(map(os.path.exists, (*living.cgroups, *next_one.cgroups))), "groups of a living gateway were removed"


DYING_HOST = """
import ctypes, json, os, socket, subprocess, sys, threading
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
command = [sys.executable, "-I", "-S", "-B", sys.argv[1], str(theirs.fileno()), str(os.getpid())]
keeper = subprocess.Popen(command, pass_fds=[theirs.fileno()])
theirs.close()

def end_template_first():
    while open(f"/proc/{os.getpid()}/stat").read().rpartition(")")[2].split()[0] != "Z":
        pass
    ours.send(json.dumps({"steps": [], "cgroups": [sys.argv[2]]}).encode())  # without steps the template ends at once
    while ours.recv(1 << 16):
        pass
    while open(f"/proc/{keeper.pid}/task/{keeper.pid}/children").read():
        pass
    os._exit(0)

threading.Thread(target=end_template_first).start()
ctypes.CDLL(None).syscall(93 if os.uname().machine == "aarch64" else 60, 0)  # ends this thread alone
"""


@pytest.mark.requirement("T12", "T81")
def test_groups_are_removed_if_the_template_ends_a_moment_before_its_dying_host(tmp_path: Path) -> None:
    group = tmp_path / "group"
    (group / "run-1").mkdir(parents=True)
    host_process = subprocess.Popen([sys.executable, "-c", DYING_HOST, KEEPER, str(group)])
    assert host_process.wait(PATIENCE) == 0
    wait_until(lambda: not group.exists(), "the keeper has removed the groups")


@pytest.mark.requirement("T12", "P4")
@pytest.mark.parametrize("level", LEVELS)
def test_an_orderly_end_leaves_nothing_at_all(tmp_path: Path, level: str) -> None:
    with host(tmp_path, level) as gateway:
        family = gateway.tree()
        assert gateway.process.stdin is not None
        gateway.process.stdin.write(b"end\n")
        gateway.process.stdin.flush()
        assert gateway.process.wait(PATIENCE) == 0
        _nothing_left(gateway, family)
        scratch = gateway.state / "scratch"
        assert not scratch.exists() or list(scratch.iterdir()) == []


@pytest.mark.requirement("T12", "P4")
def test_scratch_files_of_a_killed_host_are_gone_after_the_next_start(tmp_path: Path) -> None:
    with host(tmp_path, "landlock") as gateway:
        family = gateway.tree()
        assert list((tmp_path / "scratch").iterdir()) != [], "the control: there was something to leave behind"
        gateway.process.kill()
        gateway.process.wait()
        _nothing_left(gateway, family)
    left = set((tmp_path / "scratch").iterdir())
    with host(tmp_path, "landlock", callers=0) as gateway:
        assert not left & set((tmp_path / "scratch").iterdir())


@pytest.mark.requirement("T12")
def test_a_frozen_gateway_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    with host(tmp_path, "namespaces") as gateway:
        family = gateway.tree()
        os.kill(gateway.process.pid, signal.SIGSTOP)
        for pid in gateway.template:
            os.kill(pid, signal.SIGSTOP)
        gateway.process.kill()
        gateway.process.wait()
        _nothing_left(gateway, family)
