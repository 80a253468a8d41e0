"""Back-up and restore, tried out with both databases: taken while the gateway is open, put back elsewhere, and all is there."""

import asyncio
import os
import subprocess
import tempfile
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from gristmill import Config, Runtime
from gristmill.config import SandboxConfig, StoreConfig
from gristmill.errors import NotFound
from gristmill.runtime.records import open_config_store
from gristmill.serve.auth import TABLES, Tokens
from tests.deploy.contained import DEPLOY
from tests.servers import postgres

KEEP = "open('note.txt', 'w').write('from before')"


@dataclass(frozen=True, slots=True)
class Home:
    """Where a gateway keeps its state, and what the scripts must know of its database."""

    folder: Path
    url: str | None = None
    environment: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def config(self) -> Config:
        return Config(store=StoreConfig(path=self.folder, url=self.url), sandbox=SandboxConfig(warm=0))

    def script(self, name: str, *paths: Path) -> None:
        path = f"{postgres.programs()}:{os.environ['PATH']}"
        words = [str(DEPLOY / name), *map(str, paths)]
        done = subprocess.run(words, env={"PATH": path, **self.environment}, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def server() -> Generator[postgres.Server]:
    with postgres.server() as running:
        yield running


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    monkeypatch.setenv("MILL_PASSWORD", postgres.PASSWORD)
    with tempfile.TemporaryDirectory(prefix="gristmill-backup-") as name:
        Path(name).chmod(0o755)  # code runs as another user when we are root
        yield Path(name)


def on_postgres(folder: Path, server: postgres.Server) -> Home:
    """A state folder and an empty database."""
    variables = {"PGHOST": "127.0.0.1", "PGPORT": str(server.port), "PGUSER": "mill", "PGPASSWORD": postgres.PASSWORD}
    name = f"d{uuid4().hex}"
    login = {"host": "127.0.0.1", "port": server.port, "user": "mill", "password": postgres.PASSWORD, "dbname": "postgres"}
    with psycopg.connect(**login, autocommit=True) as connection:  # pyright: ignore[reportArgumentType]
        connection.execute(f"CREATE DATABASE {name}")  # pyright: ignore[reportArgumentType, reportCallIssue]
    url = f"postgresql://mill:${{env:MILL_PASSWORD}}@127.0.0.1:{server.port}/{name}"
    return Home(folder, url, {**variables, "PGDATABASE": name})


async def leave_and_copy(home: Home, copy: Path, keys: Path) -> tuple[str, str, str]:
    """Work, take the copy, work on; the token, and the executions before and after."""
    async with open_config_store(home.config, TABLES) as store:
        token, _ = await Tokens(store).create("ann", tenant="acme", scopes=("execute",))
    async with Runtime.open(home.config, serving=True) as runtime:
        kept = await runtime.execute(KEEP, session="ann")
        await asyncio.to_thread(home.script, "backup.sh", home.folder, copy, keys)
        lost = await runtime.execute("'too late'", session="ann")
    assert kept.success
    assert lost.success
    return token, kept.id, lost.id


async def look(home: Home, token: str, kept: str, lost: str) -> None:
    async with open_config_store(home.config, TABLES) as store:
        assert (await Tokens(store).verify(token)).caller == "ann@acme"
    async with Runtime.open(home.config, serving=True) as runtime:
        assert (await runtime.audit.show(kept)).entry.record.status == "ok"
        with pytest.raises(NotFound):
            await runtime.audit.show(lost)
        assert (await runtime.audit.verify()).ok
        assert (await runtime.execute("open('note.txt').read()", session="ann")).result == "from before"


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_what_was_there_when_the_copy_was_taken_is_there_again_and_whole(
    kind: str, place: Path, request: pytest.FixtureRequest
) -> None:
    old, new, copy, keys = (place / name for name in ("old", "new", "copy", "keys"))
    old.mkdir(mode=0o755)
    homes = [
        on_postgres(folder, request.getfixturevalue("server")) if kind == "postgres" else Home(folder) for folder in (old, new)
    ]
    found = asyncio.run(leave_and_copy(homes[0], copy, keys))
    assert {path.name for path in copy.iterdir()} == {"files.tar.gz", "gristmill.db" if kind == "sqlite" else "database.dump"}
    assert (keys / "ledger.key").exists(), "the key is kept apart"
    homes[1].script("restore.sh", copy, keys, new)
    new.chmod(0o755)
    asyncio.run(look(homes[1], *found))


def test_nothing_is_put_back_over_what_is_there(place: Path) -> None:
    (place / "state").mkdir()
    (place / "state" / "gristmill.db").write_text("precious")
    words = [str(DEPLOY / "restore.sh"), str(place / "copy"), str(place / "keys"), str(place / "state")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, "not empty" in done.stderr) == (1, True)
    assert (place / "state" / "gristmill.db").read_text() == "precious"
