"""A program works for the user that its caller names, and nobody else's rows are reached by naming them."""

import re
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.server.mcpserver.exceptions import ToolError

from examples.opening import ROOT, app_config
from examples.pam.__main__ import options, server
from examples.pam.tests.conftest import call
from gristmill import BlockingRuntime, Config, Runtime
from gristmill.config.tree import load_config

VALUES: dict[str, Any] = {"integer": 1, "number": 1.0, "string": "2026-01-01", "array": [1], "boolean": True}
README = (Path(__file__).parents[1] / "README.md").read_text()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_every_tool_about_somebody_refuses_whom_the_server_was_not_started_for() -> None:
    pam = server(users={7})
    assert anyio.run(pam.list_tools) == anyio.run(server().list_tools), "the tools look the same whoever they are for"
    owned = [tool for tool in anyio.run(pam.list_tools) if "user_id" in tool.input_schema["properties"]]

    assert len(owned) == 38
    for tool in owned:
        needed = {name: tool.input_schema["properties"][name].get("type") for name in tool.input_schema["required"]}
        arguments = {name: VALUES[kind] for name, kind in needed.items()} | {"user_id": 8}
        with pytest.raises(ToolError, match="not started for user 8"):
            call(pam, tool.name, **arguments)
    assert call(pam, "get_profile", user_id=7)["id"] == 7


def test_the_server_does_not_start_without_saying_for_whom(capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in ([], ["--user"], ["--user", "7", "--every-user"]):
        with pytest.raises(SystemExit):
            options().parse_args(wrong)
        assert "--user" in capsys.readouterr().err
    assert options().parse_args(["--user", "7", "--user", "8"]).user == [7, 8]


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("owners")
    for each in (folder, *folder.parents[:2]):
        each.chmod(0o755)  # code runs as another user when we are root
    return folder


@pytest.fixture(scope="module")
def runtime(state: Path) -> Generator[BlockingRuntime]:
    """The gateway of the example's own configuration, whose server is started for user 7."""
    with BlockingRuntime(app_config("pam", state=state / "own")) as opened:
        yield opened


MINE = """
from servers import pam
sorted({e["id"] for e in pam.get_expenses(user_id=context.user_id)})[:1], context.user_id
"""
SQL = """
from servers import pam
pam.execute_sql(user_id=context.user_id, query="SELECT DISTINCT user_id FROM expenses")["rows"]
"""


def test_a_program_works_for_the_user_of_its_context(runtime: BlockingRuntime) -> None:
    assert runtime.execute(MINE, context={"user_id": 7}).result == [[4417], 7]
    assert runtime.execute(SQL, context={"user_id": 7}).result == [[7]]


@pytest.mark.parametrize("program", [MINE, SQL])
def test_a_context_that_names_another_user_reaches_nothing(runtime: BlockingRuntime, program: str) -> None:
    outcome = runtime.execute(program, context={"user_id": 8})

    assert outcome.status == "failed"
    assert "not started for user 8" in (outcome.error or "")


def test_a_program_that_passes_another_id_than_its_own_reaches_nothing(runtime: BlockingRuntime) -> None:
    program = """
from servers import pam
found = []
for user in range(1, 21):
    try:
        found += [user for _ in pam.list_cards(user_id=user)]
    except Exception as error:
        assert "not started for user" in str(error), error
found
"""
    assert runtime.execute(program, context={"user_id": 7}).result == [7]


def shared_config(state: Path) -> Config:
    """The configuration in the README: one server for everybody, and callers that are bound to their ids by rules."""
    (rules,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    file = state / "gristmill.toml"
    file.write_text(rules.replace('".venv/bin/python"', f'"{sys.executable}"'))
    config = load_config(file, store={"path": state / "shared"})
    servers = {name: server.model_copy(update={"cwd": ROOT}) for name, server in config.servers.items()}
    return config.model_copy(update={"servers": servers})


BOUND = """
from servers import pam
found = []
for user in (context.user_id, 7, 8, 9):
    for ask in (pam.get_profile, pam.find_duplicate_expenses, lambda user_id: pam.execute_sql(user_id=user_id, query="SELECT 1")):
        try:
            ask(user_id=user)
        except Exception as error:
            assert "refused" in str(error) or "policy" in str(error), error
        else:
            found.append(user)
found, len(pam.find_parks(state="UT", limit=2))
"""


@pytest.mark.anyio
async def test_a_gateway_lets_each_caller_name_only_the_user_it_is_bound_to(state: Path) -> None:
    async with Runtime.open(shared_config(state)) as runtime:
        ann = await runtime.execute(BOUND, context={"user_id": 7}, caller="ann")
        ben = await runtime.execute(BOUND, context={"user_id": 7}, caller="ben")
        eve = await runtime.execute(BOUND, context={"user_id": 7}, caller="eve")

    assert ann.result == [[7] * 6, 2]
    assert ben.result == [[8] * 3, 2]
    assert eve.result == [[], 2]
