"""A PostgreSQL of the tests' own: from the distribution's package, on a free loopback port, as an unprivileged user."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PASSWORD = "pass/word@%1"
"""Made of what an address must escape."""
USERS = ("postgres", "nobody")


def programs() -> Path:
    """The folder of ``initdb`` and ``postgres``; fails if they are not installed, and says how to install them."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    beside = shutil.which("initdb")
    for folder in [*found, *([Path(beside).parent] if beside else [])]:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    raise FileNotFoundError("PostgreSQL is missing: run `python -m tests.servers` as root, or install the package postgresql")


@dataclass(slots=True)
class Server:
    """A database server that can be stopped and started again."""

    home: Path
    port: int
    _process: subprocess.Popen[bytes] | None = None

    def url(self, schema: str) -> str:
        """Its address, with a schema of one's own; the password is not in it."""
        return f"postgresql://mill:${{env:MILL_PASSWORD}}@127.0.0.1:{self.port}/postgres?options=-csearch_path%3D{schema}"

    def start(self) -> None:
        """Start, and return when it answers."""
        options = [f"-p{self.port}", f"-k{self.home}", "-clisten_addresses=127.0.0.1", "-cfsync=off", "-cshared_buffers=16MB"]
        command = [str(programs() / "postgres"), "-D", str(self.home / "files"), *options]
        self._process = _popen(command, self.home)
        for _ in range(400):
            done = subprocess.run(
                [str(programs() / "pg_isready"), "-q", "-h127.0.0.1", f"-p{self.port}"], check=False, timeout=10
            )
            if done.returncode == 0:
                return
            if self._process.poll() is not None:
                break
            time.sleep(0.05)
        raise RuntimeError(f"PostgreSQL did not start: {(self.home / 'log').read_text()}")

    def stop(self) -> None:
        """End at once, as a crash would."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(30)


@contextmanager
def server() -> Generator[Server]:
    """A server that is gone afterwards, with all that it held."""
    home = Path(tempfile.mkdtemp(prefix="gristmill-pg-", dir="/tmp"))
    made = Server(home, _free_port())
    try:
        (home / "password").write_text(PASSWORD)
        for path in (home, home / "password"):
            if os.geteuid() == 0:
                os.chown(path, *_user())
        command = [str(programs() / "initdb"), "-D", str(home / "files"), "-Umill", "-EUTF8", "--locale=C", "--no-sync"]
        done = _popen([*command, "-Ascram-sha-256", f"--pwfile={home / 'password'}"], home)
        if done.wait(60):
            raise RuntimeError(f"initdb failed: {(home / 'log').read_text()}")
        made.start()
        yield made
    finally:
        made.stop()
        shutil.rmtree(home, ignore_errors=True)


def _popen(command: list[str], home: Path) -> subprocess.Popen[bytes]:
    with (home / "log").open("ab") as log:
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
        if os.geteuid() != 0:
            return subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=home)
        user, group = _user()  # PostgreSQL refuses to run as root
        return subprocess.Popen(
            command, stdout=log, stderr=log, env=environment, cwd=home, user=user, group=group, extra_groups=[]
        )


def _user() -> tuple[int, int]:
    entries = [entry for entry in pwd.getpwall() if entry.pw_name in USERS]
    entry = min(entries, key=lambda entry: USERS.index(entry.pw_name))
    return entry.pw_uid, entry.pw_gid


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
