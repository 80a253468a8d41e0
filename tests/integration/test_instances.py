"""Processes that serve from one store know of each other whether they live."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gristmill.config.tree import Config, StoreConfig
from gristmill.runtime.open.open_records import open_config_store
from gristmill.store import serving_processes as instances
from gristmill.store.serving_processes import DEAD_SECONDS, ServingProcesses

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_process_of_this_machine_is_known_by_the_kernel(tmp_path: Path) -> None:
    async with open_config_store(Config(store=StoreConfig(path=tmp_path))) as store:
        ours = ServingProcesses(store)
        other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        place = ours.id.partition(".")[0]
        its = f"{place}.{other.pid}.{instances._read_start_time(other.pid)}.x"  # pyright: ignore[reportPrivateUsage]
        try:
            assert await ours.lives_elsewhere(its)
            assert not await ours.lives_elsewhere(f"{place}.{other.pid}.1.x")  # the number belongs to another by now
        finally:
            other.kill()
            os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
            assert not await ours.lives_elsewhere(its)  # killed, though nobody has fetched how it ended
            other.wait()
        assert not await ours.lives_elsewhere(its)
        assert not await ours.lives_elsewhere(ours.id)
        assert not await ours.lives_elsewhere(None)


async def test_a_process_elsewhere_lives_as_long_as_it_is_seen(tmp_path: Path) -> None:
    now = [1_000.0]
    async with open_config_store(Config(store=StoreConfig(path=tmp_path))) as store:
        ours, other = (ServingProcesses(store, lambda: now[0]) for _ in range(2))
        other.id = f"elsewhere.{os.getpid()}.1.x"
        assert not await ours.lives_elsewhere(other.id)
        async with other.announce():
            assert await ours.lives_elsewhere(other.id)
            now[0] += DEAD_SECONDS + 1
            assert not await ours.lives_elsewhere(other.id)
            now[0] -= DEAD_SECONDS
        await store.flush()
        assert not await ours.lives_elsewhere(other.id)  # it ended well, and said so


async def test_what_is_no_id_is_nobody(tmp_path: Path) -> None:
    async with open_config_store(Config(store=StoreConfig(path=tmp_path))) as store:
        for text in ("", "x", "...", "a.b.c.d"):
            assert not await ServingProcesses(store).lives_elsewhere(text)
