"""Back-up and restore, tried out with both databases: taken while the gateway is open, put back elsewhere, and all is there."""

import asyncio
import os
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
import tarfile
import tempfile
import threading
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from gristmill import Config, Runtime
from gristmill.config.tree import SandboxConfig, StoreConfig
from gristmill.errors import NotFound
from gristmill.runtime.open.open_records import open_config_store
from gristmill.serve.access_tokens import TokenRegister
from tests.deploy import runbook
from tests.deploy.contained import DEPLOY
from tests.servers import postgres

KEEP = "open('note.txt', 'w').write('from before')"


@dataclass(frozen=True, slots=True)
class Home:
    """Where a gateway keeps its state, and what the scripts must know of its database."""

    folder: Path
    url: str | None = None
    key: str | None = None
    environment: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def config(self) -> Config:
        return Config(store=StoreConfig(path=self.folder, url=self.url, key=self.key), sandbox=SandboxConfig(warm=0))

    def script(self, name: str, *paths: Path) -> None:
        done = run(name, *paths, **self.environment)
        assert done.returncode == 0, done.stderr


def run(name: str, *paths: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    path = f"{postgres.programs()}:{os.environ['PATH']}"
    words = [str(DEPLOY / name), *map(str, paths)]
    return subprocess.run(words, env={"PATH": path, **environment}, capture_output=True, text=True, timeout=60, check=False)


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


def reach(server: postgres.Server) -> dict[str, str]:
    return {"PGHOST": "127.0.0.1", "PGPORT": str(server.port), "PGUSER": "mill", "PGPASSWORD": postgres.PASSWORD}


def on_postgres(folder: Path, server: postgres.Server, name: str = "", key: str | None = None) -> Home:
    """A state folder and an empty database."""
    name = name or f"d{uuid4().hex}"
    login = {"host": "127.0.0.1", "port": server.port, "user": "mill", "password": postgres.PASSWORD, "dbname": "postgres"}
    with psycopg.connect(**login, autocommit=True) as connection:  # pyright: ignore[reportArgumentType]
        connection.execute(f"CREATE DATABASE {name}")  # pyright: ignore[reportArgumentType, reportCallIssue]
    url = f"postgresql://mill:${{env:MILL_PASSWORD}}@127.0.0.1:{server.port}/{name}"
    return Home(folder, url, key, {**reach(server), "PGDATABASE": name})


async def leave_and_copy(home: Home, take: Callable[[], object]) -> tuple[str, str, str]:
    """Work, take a copy, work on; the token, and the executions before and after."""
    async with open_config_store(home.config) as store:
        token, _ = await TokenRegister(store).create("ann", tenant="acme", scopes=("execute",))
    async with Runtime.open(home.config, serving=True) as runtime:
        kept = await runtime.execute(KEEP, session="ann")
        await asyncio.to_thread(take)
        lost = await runtime.execute("'too late'", session="ann")
    assert kept.success
    assert lost.success
    return token, kept.id, lost.id


async def look(home: Home, token: str, kept: str, lost: str) -> None:
    async with open_config_store(home.config) as store:
        assert (await TokenRegister(store).verify(token)).identity.caller == "ann@acme"
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
    (old / "gristmill.db.before-2").touch()
    found = asyncio.run(leave_and_copy(homes[0], lambda: homes[0].script("backup.sh", old, copy, keys)))
    with tarfile.open(copy / "files.tar.gz") as files:
        assert not [name for name in files.getnames() if "gristmill.db" in name], "databases are copied by their own tools"
    names = {"files.tar.gz", "gristmill.db" if kind == "sqlite" else "database.dump"}
    assert {path.name for path in copy.iterdir()} - {"in-motion"} == names
    assert (keys / "copy" / "ledger.key").exists(), "the key is kept apart"
    homes[1].script("restore.sh", copy, keys, new)
    new.chmod(0o755)
    asyncio.run(look(homes[1], *found))


def test_an_older_copy_is_whole_though_a_newer_one_was_taken_with_the_same_folder_for_keys(place: Path) -> None:
    homes = [Home(place / "old"), Home(place / "new")]
    homes[0].folder.mkdir(mode=0o755)
    keys = place / "keys"
    found = asyncio.run(leave_and_copy(homes[0], lambda: homes[0].script("backup.sh", homes[0].folder, place / "day1", keys)))
    homes[0].script("backup.sh", homes[0].folder, place / "day2", keys)
    homes[1].script("restore.sh", place / "day1", keys, homes[1].folder)
    homes[1].folder.chmod(0o755)
    asyncio.run(look(homes[1], *found))


def test_nothing_is_put_back_over_what_is_there(place: Path) -> None:
    (place / "state").mkdir()
    (place / "state" / "gristmill.db").write_text("precious")
    (place / "copy").mkdir()
    (place / "keys" / "copy").mkdir(parents=True)
    (place / "copy" / "files.tar.gz").touch()
    (place / "copy" / "gristmill.db").touch()
    done = run("restore.sh", place / "copy", place / "keys", place / "state")
    assert (done.returncode, "not empty" in done.stderr) == (1, True)
    assert (place / "state" / "gristmill.db").read_text() == "precious"


@pytest.mark.parametrize(
    ("there", "missing"), [((), "no copy"), (("files.tar.gz",), "no database"), (("files.tar.gz", "gristmill.db"), "no keys")]
)
def test_nothing_is_put_back_of_a_copy_that_lacks_a_part(place: Path, there: tuple[str, ...], missing: str) -> None:
    (place / "copy").mkdir()
    for name in there:
        (place / "copy" / name).touch()
    done = run("restore.sh", place / "copy", place / "keys", place / "state")
    assert (done.returncode, missing in done.stderr) == (1, True)
    assert [path.name for path in place.iterdir()] == ["copy"]


@pytest.mark.parametrize("database", ["missing", "empty", "of postgres", "of postgres and empty"])
def test_a_copy_without_a_database_is_none_and_nothing_is_made(
    database: str, place: Path, request: pytest.FixtureRequest
) -> None:
    state = place / "state"
    state.mkdir()
    (state / "note.txt").write_text("from before")
    variables = {"missing": {}, "empty": {}, "of postgres": {"PGDATABASE": "nowhere"}}.get(database)
    if variables is None:
        variables = on_postgres(state, request.getfixturevalue("server")).environment
    elif database == "empty":
        (state / "gristmill.db").touch()
    before = {path.name: path.read_bytes() for path in state.iterdir()}
    done = run("backup.sh", state, place / "copy", place / "keys", **{"PGHOST": "/nonexistent", **variables})
    assert done.returncode != 0, done.stdout
    assert {path.name: path.read_bytes() for path in state.iterdir()} == before
    assert not (place / "copy").exists()
    assert not (place / "keys" / "copy").exists()


def test_a_copy_of_a_service_that_rests_leaves_nothing_in_its_folder(place: Path) -> None:
    state = place / "state"
    state.mkdir()
    with closing(sqlite3.connect(state / "gristmill.db")) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE audit (seq INTEGER)")
    assert run("backup.sh", state, place / "copy", place / "keys").returncode == 0
    assert [path.name for path in state.iterdir()] == ["gristmill.db"]


def test_files_that_programs_write_meanwhile_are_named_and_the_database_is_of_one_moment(place: Path) -> None:
    state, written = place / "state", place / "state" / "workspaces" / "busy"
    written.mkdir(parents=True)
    (written / "large.bin").write_bytes(os.urandom(20_000_000))
    (written / "still.txt").write_text("from before")
    with closing(sqlite3.connect(state / "gristmill.db")) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.executescript("CREATE TABLE a (n INTEGER); CREATE TABLE b (n INTEGER)")
    ended = threading.Event()

    def write() -> None:
        number = 0
        with closing(sqlite3.connect(state / "gristmill.db")) as database, (written / "large.bin").open("ab") as large:
            while not ended.is_set():
                number += 1
                with database:
                    database.execute("INSERT INTO a VALUES (?)", (number,))
                    database.execute("INSERT INTO b VALUES (?)", (number,))
                large.write(b"more")
                large.flush()
                (written / f"{number}.txt").write_text("come")
                (written / f"{number - 1}.txt").unlink(missing_ok=True)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        done = run("backup.sh", state, place / "copy", place / "keys")
    finally:
        ended.set()
        writer.join()
    assert done.returncode == 0, done.stderr
    assert "large.bin: file changed as we read it" in done.stderr
    assert "large.bin" in (place / "copy" / "in-motion").read_text()
    with closing(sqlite3.connect(place / "copy" / "gristmill.db")) as copy:
        assert copy.execute("SELECT * FROM a").fetchall() == copy.execute("SELECT * FROM b").fetchall() != []
    assert run("restore.sh", place / "copy", place / "keys", place / "new").returncode == 0
    assert (place / "new" / "workspaces" / "busy" / "still.txt").read_text() == "from before"


def owners(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path.relative_to(folder)): (path.lstat().st_uid, path.lstat().st_gid) for path in (folder, *sorted(folder.rglob("*")))
    }


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("prepared", [None, 0, 10_002])
def test_what_root_puts_back_belongs_to_the_service_again(place: Path, prepared: int | None) -> None:
    old, new = place / "old", place / "new"
    (old / "workspaces" / "ann").mkdir(parents=True)
    (old / "workspaces" / "ann" / "note.txt").write_text("from before")
    (old / "workspaces" / "ann" / "link").symlink_to("/etc/passwd")
    for name in ("ledger.key", "audit.counter"):
        (old / name).write_text("secret")
    with closing(sqlite3.connect(old / "gristmill.db")) as database:
        database.execute("CREATE TABLE audit (seq INTEGER)")
    for path in (old, *old.rglob("*")):
        os.chown(path, 10_001, 10_001, follow_symlinks=False)
    other = old / "workspaces" / "ann" / "note.txt"
    os.chown(other, 65_534, 65_534)  # as where a service of root lets code run as somebody else
    assert run("backup.sh", old, place / "copy", place / "keys").returncode == 0
    if prepared is not None:
        new.mkdir()
        os.chown(new, prepared, prepared)
    assert run("restore.sh", place / "copy", place / "keys", new).returncode == 0
    owner = prepared or 10_001
    expected = {name: (owner, owner) if ids == (10_001, 10_001) else ids for name, ids in owners(old).items()}
    assert owners(new) == expected
    assert stat.S_IMODE((new / "gristmill.db").stat().st_mode) == 0o600
    assert Path("/etc/passwd").stat().st_uid == 0


DOCKER = """
case "$*" in
    "volume inspect "*" gristmill_state") echo "$STATE" ;;
    "volume rm --force gristmill_state gristmill_database")
        rm -rf "$STATE"
        psql --quiet --dbname=postgres --command="DROP DATABASE mill" --command="CREATE DATABASE mill" ;;
    "compose create") mkdir "$STATE" ;;
    "compose exec -T postgres "*) shift 4; exec "$@" ;;
    "compose exec gristmill "*) shift 3; GRISTMILL_KEY=$(cat secrets/gristmill_key) exec "$@" ;;
    "compose down" | "compose up -d" | "compose up -d --wait postgres") ;;
    *) echo "docker $* is not in the runbook" >&2; exit 64 ;;
esac
"""
"""What compose does with these words, with a folder in the place of its volume and the database of the tests in that of its own."""


def test_with_compose_the_runbooks_commands_copy_and_put_back_state_database_and_secrets(
    place: Path, server: postgres.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRISTMILL_KEY", "k" * 64)
    home = on_postgres(place / "state", server, "mill", "${env:GRISTMILL_KEY}")
    deploy = place / "deploy"
    shutil.copytree(DEPLOY, deploy)
    for folder in (home.folder, deploy / "secrets", place / "backup", place / "keys"):
        folder.mkdir(mode=0o755, exist_ok=True)
    (deploy / "secrets" / "gristmill_key").write_text(f"{'k' * 64}\n")
    store = {"GRISTMILL_STORE__PATH": home.folder, "GRISTMILL_STORE__URL": home.url, "GRISTMILL_STORE__KEY": home.key}
    path = f"{Path(sys.executable).parent}:{postgres.programs()}"
    variables = {**{name: str(value) for name, value in store.items()}, **reach(server), "STATE": str(home.folder), "PATH": path}

    def follow(words: str) -> str:
        day = runbook.block(words).replace("2026-01-31", date.today().isoformat())  # noqa: DTZ011
        lines = re.sub(r"(?<=[ \"])/(backup|keys)\b", rf"{place}/\1", day)
        return runbook.run(lines, deploy, {"docker": DOCKER}, **variables)

    found = asyncio.run(leave_and_copy(home, lambda: follow("export PG_DUMP=")))
    shutil.rmtree(deploy / "secrets")
    assert "whole" in follow("export PG_RESTORE=")
    home.folder.chmod(0o755)
    asyncio.run(look(home, *found))
    assert (deploy / "secrets" / "gristmill_key").exists()
