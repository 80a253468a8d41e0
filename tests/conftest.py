"""What all tests share: one open runtime with a few Python functions as tools, and where its state lives."""

import asyncio
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from gristmill import BlockingRuntime, Config
from gristmill.config.tree import SandboxConfig, StoreConfig
from gristmill.errors import ToolFailed

# Examples may take as long as they take: this is no place for timings, and the machine may be busy.
settings.register_profile("gristmill", deadline=None)
settings.load_profile("gristmill")


@pytest.fixture(scope="session", autouse=True)
def own_state_folder(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """Gives the tests a default state folder of their own, and no configuration of the user."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state-home")))
        patch.setenv("GRISTMILL_USER_CONFIG", "")
        yield


async def slow(number: int = 0) -> dict[str, Any]:
    """Answers only when three calls are waiting: proof that they are under way at the same time."""
    _waiting.append(number)
    for _ in range(500):
        if len(_waiting) >= 3:
            return {"number": number}
        await asyncio.sleep(0.01)
    raise ToolFailed(f"call {number} was alone for five seconds")


_waiting: list[int] = []


def reset_meeting() -> None:
    """Forget who was waiting."""
    _waiting.clear()


def find(q: str, limit: int = 10) -> dict[str, Any]:
    """An ordinary tool."""
    return {"q": q, "limit": limit}


def get(number: int) -> dict[str, Any]:
    """A tool that models call by position."""
    return {"number": number}


def fail() -> None:
    """A tool that fails."""
    raise ToolFailed("no such record")


def rows(count: int) -> list[dict[str, Any]]:
    """A tool with a large answer."""
    return [{"id": n, "name": f"row {n}", "value": n * 37 % 1000, "note": "x" * 100} for n in range(count)]


TOOLS = {"crm.find": find, "crm.get": get, "crm.slow": slow, "crm.fail": fail, "crm.rows": rows}


@pytest.fixture(scope="session")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("state")
    for parent in (folder, *folder.parents):
        if os.access(parent, os.W_OK) and parent.owner() == folder.owner() and parent != Path("/tmp"):
            parent.chmod(0o755)  # code runs as another user when we are root
    return folder


@pytest.fixture(scope="session")
def runtime(state: Path) -> Generator[BlockingRuntime]:
    config = Config(sandbox=SandboxConfig(warm=2), store=StoreConfig(path=state))
    with BlockingRuntime(config, tools=TOOLS) as opened:
        yield opened
