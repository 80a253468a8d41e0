"""SQLite on a full, read-only or contested disk: nothing acknowledged is lost, and every failure is said."""

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from gristmill.errors import StoreUnavailable
from gristmill.store import sqlite
from gristmill.store.open_store import open_store
from tests.integration.store.conftest import open_with

TABLES = ("CREATE TABLE IF NOT EXISTS things (name TEXT PRIMARY KEY, body BLOB)",)

FULL = """
import asyncio, sys
from pathlib import Path
from gristmill.errors import StoreUnavailable
from gristmill.store.open_store import open_store

async def main(folder):
    store = await open_store(folder)
    await store.write(("CREATE TABLE things (name TEXT PRIMARY KEY, body BLOB)", ()))
    kept = []
    ballast = folder / "ballast"
    ballast.write_bytes(bytes(300_000))
    try:
        for number in range(10_000):
            await store.write(("INSERT INTO things VALUES (?, ?)", (f"t{number:05}", bytes(2000))))
            kept.append(f"t{number:05}")
    except StoreUnavailable:
        pass
    else:
        sys.exit("the disk was never full")
    assert [name for (name,) in await store.read("SELECT name FROM things ORDER BY name")] == kept
    ballast.unlink()
    await store.write(("INSERT INTO things VALUES ('again', NULL)", ()))
    await store.close()
    again = await open_store(folder)
    assert await again.read("PRAGMA integrity_check") == [("ok",)]
    assert await again.read("SELECT count(*) FROM things WHERE name = 'again'") == [(1,)]
    await again.close()
    print("kept", len(kept))

asyncio.run(main(Path(sys.argv[1])))
"""

READ_ONLY = """
import asyncio, subprocess, sys
from pathlib import Path
from gristmill.errors import StoreUnavailable
from gristmill.store.open_store import open_store

async def main(folder):
    store = await open_store(folder)
    await store.write(("CREATE TABLE things (name TEXT PRIMARY KEY, body BLOB)", ()))
    await store.write(("INSERT INTO things VALUES ('a', NULL)", ()))
    await store.close()
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
    try:
        await open_store(folder)
    except StoreUnavailable:
        pass
    else:
        sys.exit("a store that cannot write was opened for writing")
    reader = await open_store(folder, read_only=True)
    print(await reader.read("SELECT name FROM things"))
    await reader.close()

asyncio.run(main(Path(sys.argv[1])))
"""


def _on_a_small_disk(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run ``program`` with a file system of 1 MB of its own, in its own mount namespace."""
    assert shutil.which("unshare"), "util-linux is missing"
    mount = 'mount -t tmpfs -o size=1m none "$1" && exec "$2" -c "$3" "$1"'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh", str(folder), sys.executable, program]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


def test_a_full_disk_loses_nothing_acknowledged_and_the_store_goes_on_when_there_is_room(tmp_path: Path) -> None:
    done = _on_a_small_disk(FULL, tmp_path)
    assert (done.returncode, done.stdout.split()[:1]) == (0, ["kept"]), done.stderr


def test_a_read_only_file_system_is_an_error_for_writers_and_none_for_readers(tmp_path: Path) -> None:
    done = _on_a_small_disk(READ_ONLY, tmp_path)
    assert (done.returncode, done.stdout) == (0, "[('a',)]\n"), done.stderr


@pytest.mark.anyio
async def test_a_store_locked_by_another_process_says_so_and_works_when_it_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.05)
    store = await open_with(tmp_path, TABLES)
    other = sqlite3.connect(tmp_path / "gristmill.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="locked"):
        await store.write(("INSERT INTO things VALUES ('a', NULL)", ()))
    assert await store.read("SELECT count(*) FROM things") == [(0,)]
    other.execute("ROLLBACK")
    await store.write(("INSERT INTO things VALUES ('a', NULL)", ()))
    assert await store.read("SELECT name FROM things") == [("a",)]
    other.close()
    await store.close()


@pytest.mark.anyio
async def test_a_folder_that_cannot_be_written_is_an_error_not_a_hang(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreUnavailable):
        await open_store(tmp_path / "file")
