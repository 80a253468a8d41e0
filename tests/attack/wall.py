"""How an attack is tried: once outside, where it must succeed, and once inside, where it must not.

An attack is the body of a function that returns its loot or raises. Outside it runs in a plain ``python -I``: a program that
fails there is broken and proves nothing.
"""

import contextlib
import json
import os
import secrets
import select
import socket
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gristmill import BlockingRuntime, Outcome
from gristmill.config.tree import load_config

PATIENCE = 60.0
"""Seconds until a wait on another process is given up: generous, since the machine may be busy."""
TRYING, EFFECT, REFUSED = "TRYING", "EFFECT", "REFUSED"

_PROGRAM = """
values = __import__("json").loads({values!r})
def attack():
{body}
print("TRYING", flush=True)
try:
    print("EFFECT", attack(), flush=True)
except BaseException as error:
    print("REFUSED", type(error).__name__, error, flush=True)
"""


def program(body: str, values: Mapping[str, Any]) -> str:
    """A whole program around the body of an attack."""
    indented = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return _PROGRAM.format(values=json.dumps(dict(values)), body=indented)


def outside(code: str, environment: Mapping[str, str] | None = None) -> str:
    """What ``code`` prints in a plain interpreter, without any wall."""
    env = {**os.environ, **(environment or {})}
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], env=env, capture_output=True, timeout=PATIENCE, check=False, start_new_session=True
    )
    return done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")


@dataclass(frozen=True)
class Wall:
    """A gateway at one level of isolation, and attacks on it."""

    level: str
    runtime: BlockingRuntime

    def run(self, code: str, **options: Any) -> Outcome:
        """Execute a program as it is."""
        return self.runtime.execute(code, **options)

    def inside(
        self, body: str, *, status: str = "ok", limits: Mapping[str, Any] | None = None, session: str | None = None, **values: Any
    ) -> Outcome:
        """Try an attack inside; it must have got as far as trying, and have ended as expected."""
        outcome = self.runtime.execute(program(body, values), limits=limits, session=session)
        assert TRYING in outcome.output, f"the attack was not even tried: {outcome}"
        assert outcome.status == status, f"the attack did not run to its end: {outcome}"
        return outcome

    def holds(self, body: str, *, loot: str = EFFECT, **values: Any) -> Outcome:
        """The attack gets ``loot`` outside, and nothing of it inside."""
        control = outside(program(body, values))
        assert loot in control, f"the attack is broken, it fails without a wall too: {control}"
        outcome = self.inside(body, **values)
        assert loot not in everything(outcome), f"{self.level}: the attack succeeded: {outcome}"
        return outcome


def everything(outcome: Outcome) -> str:
    """All text that an outcome carries."""
    return "\n".join((outcome.output, repr(outcome.result), outcome.error or ""))


def open_wall(state: Path, level: str, tools: Mapping[str, Callable[..., Any]] | None = None, **sandbox: Any) -> Wall:
    """A wall that its user must enter (``with``)."""
    reachable(state)
    # These tests are about the wall: what comes back of it must be whole and as it was.
    plain: dict[str, Any] = {"mask": {"mode": "off"}, "shaping": {"strategy": "full"}}
    config = load_config(None, store={"path": str(state)}, sandbox={"isolation": level, "warm": 2, **sandbox}, **plain)
    return Wall(level, BlockingRuntime(config, tools=tools))


def reachable(folder: Path) -> None:
    """Let others pass through to ``folder``: where we are root, code runs as somebody else."""
    for part in (folder, *folder.parents):
        status = part.stat()
        if status.st_uid == os.geteuid() and not status.st_mode & stat.S_ISVTX and "pytest" in str(part):
            part.chmod(status.st_mode | 0o055)


@contextlib.contextmanager
def opened(state: Path, level: str, tools: Mapping[str, Callable[..., Any]] | None = None, **sandbox: Any) -> Generator[Wall]:
    """A wall for as long as the block lasts."""
    wall = open_wall(state, level, tools, **sandbox)
    with wall.runtime:
        yield wall


def secret() -> str:
    """A value that can only be known by having read it."""
    return f"canary-{secrets.token_hex(12)}"


@contextlib.contextmanager
def listener(family: int, address: Any, kind: int = socket.SOCK_STREAM) -> Generator[socket.socket]:
    """A socket of the host that an attack tries to reach."""
    with socket.socket(family, kind) as sock:
        sock.bind(address)
        if kind == socket.SOCK_STREAM:
            sock.listen(8)
        sock.setblocking(False)
        yield sock


def was_reached(sock: socket.socket) -> bool:
    """True when something has arrived at a listening or datagram socket; takes it away."""
    if not select.select([sock], [], [], 0)[0]:
        return False
    if sock.type == socket.SOCK_STREAM:
        sock.accept()[0].close()
    else:
        sock.recv(65_536)
    return True


@contextlib.contextmanager
def bystander() -> Generator[subprocess.Popen[bytes]]:
    """An innocent process of the host's user, asleep."""
    process = subprocess.Popen([sys.executable, "-I", "-c", "import sys; print(1, flush=True); sys.stdin.read()"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)  # fmt: skip
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_until(true: Callable[[], bool], what: str, seconds: float = PATIENCE) -> None:
    """Wait for something that has no descriptor to wait on."""
    deadline = _now() + seconds
    while not true():
        assert _now() < deadline, f"not within {seconds:.0f} s: {what}"
        select.select([], [], [], 0.01)


def _now() -> float:
    return os.times().elapsed
