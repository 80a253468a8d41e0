"""The copy that is kept before a SQLite store changes: whole, private, not more than two, and never skipped for want of room."""

import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from gristmill.errors import StoreUnavailable
from gristmill.store import sqlite_copy
from gristmill.store.open_store import FILE_NAME, open_store
from gristmill.store.schema.migration import Migration
from gristmill.store.schema.migrations import MIGRATIONS
from gristmill.store.sqlite_copy import keep_copy, remove_old_copies

pytestmark = pytest.mark.anyio

NEWEST = MIGRATIONS[-1].number
LATER = tuple(
    Migration(number=NEWEST + n, name=f"later {n}", statements=(f"CREATE TABLE later_{n} (a TEXT)",)) for n in (1, 2, 3)
)
UPGRADE = """
import asyncio, os, sys
from pathlib import Path
from gristmill.errors import StoreUnavailable
from gristmill.store import sqlite_copy
from gristmill.store.open_store import open_store
from gristmill.store.schema.migration import Migration
from gristmill.store.schema.migrations import MIGRATIONS

LATER = (*MIGRATIONS, Migration(number=MIGRATIONS[-1].number + 1, name="later", statements=("CREATE TABLE later (a TEXT)",)))

async def main(folder, reserve):
    sqlite_copy.RESERVE_BYTES = reserve
    store = await open_store(folder)
    for _ in range(10):
        await store.write(("INSERT INTO chores VALUES (hex(randomblob(16)), 1)", ()))
    await store.close()
    disk = os.statvfs(folder)
    (folder / "ballast").write_bytes(bytes(disk.f_bavail * disk.f_frsize - 100_000))
    try:
        await open_store(folder, migrations=LATER)
    except StoreUnavailable as error:
        print(error)
    else:
        sys.exit("the store was changed without a copy")
    (folder / "ballast").unlink()
    print(sorted(path.name for path in folder.iterdir()))
    store = await open_store(folder)
    print((await store.read_version()).number, await store.read("SELECT count(*) FROM chores"))
    await store.close()

asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
"""


async def upgrade(folder: Path, number: int) -> None:
    await (await open_store(folder, migrations=(*MIGRATIONS, *LATER[:number]))).close()


def copies(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if "before" in path.name)


async def test_the_copy_is_the_store_as_it_was_in_one_private_file(tmp_path: Path) -> None:
    store = await open_store(tmp_path)
    await store.write(("INSERT INTO chores VALUES ('c', 1)", ()))  # only in the log so far, not in the file
    await upgrade(tmp_path, 1)
    await store.close()
    copy = tmp_path / f"{FILE_NAME}.before-{NEWEST + 1}"
    assert copies(tmp_path) == [copy.name]
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with closing(sqlite3.connect(copy)) as file:
        assert file.execute("SELECT name, at FROM chores").fetchall() == [("c", 1)]
        assert file.execute("SELECT max(number) FROM schema_version").fetchone() == (NEWEST,)
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert file.execute("PRAGMA journal_mode").fetchone() == ("delete",)


async def test_the_last_two_copies_are_kept(tmp_path: Path) -> None:
    await upgrade(tmp_path, 0)
    (tmp_path / f"{FILE_NAME}.before-x").touch()
    for number in (1, 2, 3):
        await upgrade(tmp_path, number)
    kept = [f"{FILE_NAME}.before-{NEWEST + number}" for number in (2, 3)]
    assert copies(tmp_path) == [*kept, f"{FILE_NAME}.before-x"]


def test_ten_comes_after_nine(tmp_path: Path) -> None:
    for number in (2, 9, 10):
        (tmp_path / f"{FILE_NAME}.before-{number}").touch()
    remove_old_copies(tmp_path / FILE_NAME)
    assert copies(tmp_path) == [f"{FILE_NAME}.before-10", f"{FILE_NAME}.before-9"]


async def test_a_copy_put_back_is_the_store_and_is_brought_forward_again(tmp_path: Path) -> None:
    store = await open_store(tmp_path)
    await store.write(("INSERT INTO chores VALUES ('c', 1)", ()))
    await store.close()
    await upgrade(tmp_path, 1)
    (tmp_path / f"{FILE_NAME}.before-{NEWEST + 1}").rename(tmp_path / FILE_NAME)
    store = await open_store(tmp_path)
    assert await store.read("SELECT name FROM chores") == [("c",)]
    await store.close()
    await upgrade(tmp_path, 1)
    assert copies(tmp_path) == [f"{FILE_NAME}.before-{NEWEST + 1}"]


@pytest.mark.requirement("U2")
@pytest.mark.parametrize(("reserve", "said"), [(-1 << 30, "could not be written"), (0, "no room for the copy")])
def test_without_room_for_a_copy_nothing_is_changed(tmp_path: Path, reserve: int, said: str) -> None:
    """With a reserve below zero the check passes, and the disk fills up while the copy is written."""
    mount = 'mount -t tmpfs -o size=4600k none "$1" && exec "$2" -c "$3" "$1" "$4"'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh"]
    done = subprocess.run(
        [*command, str(tmp_path), sys.executable, UPGRADE, str(reserve)], capture_output=True, text=True, timeout=60, check=False
    )
    message, *rest = done.stdout.splitlines()
    assert said in message, (done.stdout, done.stderr)
    assert rest == [str([FILE_NAME]), f"{NEWEST} [(10,)]"], done.stderr


async def test_a_copy_that_cannot_be_written_is_a_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await upgrade(tmp_path, 0)

    def fail(path: Path) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(sqlite_copy, "_sync", fail)
    with pytest.raises(StoreUnavailable, match="nothing was changed"):
        keep_copy(tmp_path / FILE_NAME, 9)
    assert copies(tmp_path) == []
