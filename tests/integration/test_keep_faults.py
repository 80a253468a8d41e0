"""A disk that is full or read-only and a store that is locked, through the whole hall: nothing acknowledged is lost, each says so."""

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from gristmill.config.tree import Config
from gristmill.errors import StoreUnavailable
from gristmill.model import Json
from gristmill.store import sqlite
from gristmill.testing import CallTool, FakePool, fake_runtime

FULL = """
import asyncio, os, sys
from pathlib import Path
from gristmill.config.tree import Config
from gristmill.errors import Error
from gristmill.model import LOCAL_IDENTITY
from gristmill.testing import FakePool, fake_runtime

os.geteuid = lambda: 1  # the only user of this namespace: files cannot be given to another

async def main(folder):
    ballast = folder / "ballast"
    ballast.write_bytes(bytes(1_500_000))
    number, acknowledged, errors = 0, [], []

    async def keep(tools):
        await tools("gristmill.kv_set", key=f"k{number:05}", value="x" * 2_000)
        return number

    async def look(tools):
        return await tools("gristmill.kv_keys")

    config = Config.model_validate({"store": {"path": folder}, "sessions": {"kv_bytes": 100_000_000, "kv_keys": 100_000}})
    async with fake_runtime(config, FakePool(program=keep)) as runtime:
        while not errors and number < 10_000:
            number += 1
            try:
                outcome = await runtime.execute("x", session="s")
                if outcome.status == "ok":
                    acknowledged.append(f"k{number:05}")
                else:
                    errors.append(outcome.error)
            except Error as error:
                errors.append(str(error))
        ballast.unlink()
    async with fake_runtime(config, FakePool(program=look)) as runtime:
        assert (await runtime.execute("x", session="s")).status == "ok"
        session = await runtime.session_stores.sessions.find_by_name("s", identity=LOCAL_IDENTITY)
        there = set(await runtime.session_stores.values.keys(session.handle))
        assert set(acknowledged) <= there, sorted(set(acknowledged) - there)
        verified = await runtime.audit.verify()
        assert verified.ok, verified
    print("kept" if acknowledged else "nothing", "|", errors[0])

asyncio.run(main(Path(sys.argv[1])))
"""

READ_ONLY = """
import asyncio, os, subprocess, sys
from pathlib import Path
from gristmill.config.tree import Config
from gristmill.errors import Error
from gristmill.model import LOCAL_IDENTITY
from gristmill.testing import FakePool, fake_runtime

os.geteuid = lambda: 1  # the only user of this namespace: files cannot be given to another

async def main(folder):
    config = Config.model_validate({"store": {"path": folder}})
    async with fake_runtime(config, FakePool()) as runtime:
        assert (await runtime.execute("x", session="s")).status == "ok"
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
    try:
        async with fake_runtime(config, FakePool()):
            print("opened")
    except (Error, OSError) as error:
        print(type(error).__name__, "|", error)

asyncio.run(main(Path(sys.argv[1])))
"""


def _on_a_small_disk(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    assert shutil.which("unshare"), "util-linux is missing"
    mount = 'mount -t tmpfs -o size=4m none "$1" && exec "$2" -c "$3" "$1"'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh", str(folder), sys.executable, program]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


@pytest.mark.requirement("P13")
def test_on_a_full_disk_nothing_acknowledged_is_lost_and_the_chain_is_whole(tmp_path: Path) -> None:
    done = _on_a_small_disk(FULL, tmp_path)
    assert done.returncode == 0, done.stderr
    first, _, error = done.stdout.partition("|")
    assert (first.strip(), "full" in error) == ("kept", True), done.stdout


@pytest.mark.requirement("P13")
def test_on_a_read_only_file_system_nothing_is_opened_and_it_is_said_why(tmp_path: Path) -> None:
    done = _on_a_small_disk(READ_ONLY, tmp_path)
    assert done.returncode == 0, done.stderr
    assert ("opened" in done.stdout, "read-only file system" in done.stdout.lower()) == (False, True), done.stdout


@pytest.mark.requirement("P13")
@pytest.mark.anyio
async def test_a_locked_store_refuses_what_must_be_kept_and_goes_on_when_it_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def keep(tools: CallTool) -> Json:
        await tools("gristmill.kv_set", key="k", value=1)
        return "kept"

    async def look(tools: CallTool) -> Json:
        return await tools("gristmill.kv_get", key="k")

    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.05)
    config = Config.model_validate({"store": {"path": tmp_path}})
    async with fake_runtime(config, FakePool(program=keep)) as runtime:
        await runtime.execute("x", session="s")
        await runtime.stats()  # what was to be written a moment later is
        other = sqlite3.connect(tmp_path / "gristmill.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="locked"):
            await runtime.execute("x", session="other")
        other.execute("ROLLBACK")
        other.close()
        assert (await runtime.execute("x", session="other")).result == "kept"
        assert (await runtime.audit.verify()).ok
    async with fake_runtime(config, FakePool(program=look)) as runtime:
        assert (await runtime.execute("x", session="other")).result == {"found": True, "value": 1}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
