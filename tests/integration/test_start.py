"""How a runtime starts: the sandbox first, nothing heavy that was not asked for, and nothing left behind when it cannot."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gristmill import ConfigError, Runtime
from gristmill.sandbox.jails.keeper_process import Keeper

HEAVY = {
    "click", "httpx2", "json5", "mcp", "mcp_types", "numpy", "opentelemetry", "prometheus_client", "rich", "rs_bpe",
    "starlette", "tomlkit", "typer", "uvicorn", "yaml",
}  # fmt: skip
EXECUTED = """
import asyncio, json, sys
from gristmill import Runtime

async def main():
    async with Runtime.open("gristmill.toml") as runtime:
        outcome = await runtime.execute("6 * 7")
        print(json.dumps([outcome.result, sorted({name.partition(".")[0] for name in sys.modules})]))

asyncio.run(main())
"""
STARTED_FIRST = """
import asyncio, json, subprocess, sys
from gristmill import Runtime

seen, popen = [], subprocess.Popen

class Seen(popen):
    def __init__(self, *args, **options):
        seen.extend(name for name in ("pydantic", "gristmill.runtime.build", "gristmill.guard.policy.policy") if name in sys.modules)
        super().__init__(*args, **options)

subprocess.Popen = Seen

async def main():
    async with Runtime.open("gristmill.toml") as runtime:
        print(json.dumps([(await runtime.execute("6 * 7")).result, seen]))

asyncio.run(main())
"""


def _run(program: str, folder: Path) -> tuple[int, list[str]]:
    (folder / "gristmill.toml").write_text(f"[store]\npath = {json.dumps(str(folder / 'state'))}\n[sandbox]\nwarm = 0\n")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=True, cwd=folder)
    result, names = json.loads(done.stdout)
    return result, names


def test_the_package_alone_imports_nothing_of_ours_or_of_others() -> None:
    program = "import sys\nbefore = set(sys.modules)\nimport gristmill\nprint(sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    imported: list[str] = ast.literal_eval(done.stdout)
    assert [name for name in imported if name.partition(".")[0] not in sys.stdlib_module_names] == ["gristmill"]


def test_executing_code_imports_nothing_heavy(tmp_path: Path) -> None:
    result, imported = _run(EXECUTED, tmp_path)
    assert (result, HEAVY & set(imported)) == (42, set())


def test_the_sandbox_is_started_before_the_configuration_is_read_or_the_hall_is_loaded(tmp_path: Path) -> None:
    assert _run(STARTED_FIRST, tmp_path) == (42, [])


@pytest.mark.anyio
async def test_a_configuration_that_cannot_be_used_leaves_no_process_behind(tmp_path: Path) -> None:
    before = _children()
    (tmp_path / "gristmill.toml").write_text("[sandbox]\nwram = 3\n")
    with pytest.raises(ConfigError, match="wram"):
        async with Runtime.open(tmp_path / "gristmill.toml"):
            pass
    assert _children() == before


def test_a_keeper_that_nobody_takes_is_ended() -> None:
    with Keeper() as keeper:
        pass
    assert keeper.process.returncode == -9
    with pytest.raises(ProcessLookupError):
        os.kill(keeper.process.pid, 0)


def _children() -> set[str]:
    return {pid for thread in Path("/proc/self/task").iterdir() for pid in (thread / "children").read_text().split()}
