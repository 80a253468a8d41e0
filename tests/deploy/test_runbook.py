"""What the runbook and the list of troubles say is so: commands are run as they are written there, words are those that are said."""

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from gristmill import Config, Runtime
from gristmill.config.tree import SandboxConfig, StoreConfig
from gristmill.runtime.open.open_records import open_config_store
from gristmill.sandbox.kernel_probe import REMEDIES
from gristmill.serve.access_tokens import TokenRegister
from tests.deploy import runbook
from tests.deploy.contained import DEPLOY, ROOT

TROUBLES = (ROOT / "docs" / "guides" / "troubleshooting.md").read_text()


@pytest.fixture
def config() -> Generator[Config]:
    with tempfile.TemporaryDirectory(prefix="gristmill-runbook-") as name:
        Path(name).chmod(0o755)  # code runs as another user when we are root
        yield Config(store=StoreConfig(path=Path(name)), sandbox=SandboxConfig(warm=0))


def gristmill(config: Config, *words: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "GRISTMILL_STORE__PATH": str(config.state_dir), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "gristmill", *words]
    return subprocess.run(command, cwd=config.state_dir, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_rotating_revokes_the_old_token_and_no_other(config: Config, tmp_path: Path) -> None:
    async def make() -> list[str]:
        async with open_config_store(config) as store:
            tokens = TokenRegister(store)
            who = (("ann", "acme"), ("bob", "acme"), ("ann", "local"))
            return [(await tokens.create(name, tenant=tenant, scopes=("execute",)))[1].id for name, tenant in who]

    old, *others = asyncio.run(make())
    commands = runbook.block("gristmill tokens revoke")
    path = str(Path(sys.executable).parent)
    new = runbook.run(commands, tmp_path, {}, PATH=path, GRISTMILL_STORE__PATH=str(config.state_dir)).split("_")[1]
    listed = json.loads(gristmill(config, "tokens", "list", "--json").stdout)
    assert {one["id"] for one in listed if one["revoked"]} == {old}
    assert {one["id"] for one in listed if not one["revoked"]} == {new, *others}


def test_who_was_refused_is_said_by_the_command_that_the_runbook_names(config: Config) -> None:
    async def meet_a_limit() -> None:
        async with Runtime.open(config) as runtime:
            await runtime.execute("while True: pass", limits={"seconds": 0.2}, caller="ann", tenant="acme")

    asyncio.run(meet_a_limit())
    (said,) = set(re.findall(r"gristmill (audit list --kind security[^`]*)`", runbook.PAGE.read_text()))
    (found,) = json.loads(gristmill(config, *said.split()).stdout)
    assert (found["caller"], found["tenant"], found["rule"]) == ("ann", "acme", "limit.seconds")


def test_a_store_that_cannot_be_used_is_listed_by_the_words_that_the_service_says(config: Config) -> None:
    (config.state_dir / "gristmill.db").write_text("this is no database, and was never one: " * 10)
    done = gristmill(config, "serve", "--http", "--port", "0")
    assert done.returncode != 0
    starts = TROUBLES.partition("## It does not start")[2].partition("\n## ")[0]
    words = [quoted.removesuffix(" ...") for quoted in re.findall(r"^\| `([^`]+)`", starts, re.MULTILINE)]
    assert [quoted for quoted in words if quoted in done.stderr] == ["the store refused:"], done.stderr


def test_what_ubuntu_forbids_and_how_to_allow_it_is_said_as_the_sandbox_says_it() -> None:
    (switch,) = re.findall(r"kernel\.apparmor\w+", REMEDIES["namespaces"])
    page = runbook.PAGE.read_text()
    assert f"{switch}=0" in page
    assert switch in (DEPLOY / "apparmor").read_text()
    assert "userns," in (DEPLOY / "apparmor").read_text()
    named = re.findall(r"^profile (\w+) ", (DEPLOY / "apparmor").read_text(), re.MULTILINE)
    assert [f"GRISTMILL_APPARMOR={name}" in page for name in named] == [True]
