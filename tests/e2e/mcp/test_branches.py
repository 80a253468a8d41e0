"""A session is branched over MCP: the copy has its variables, and goes on by itself."""

from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from gristmill.model import Identity
from gristmill.serve.mcp.questions.ask_client import Ctx
from tests.e2e.mcp.conftest import MODES, Mode, connected, open_door, text

pytestmark = pytest.mark.anyio


def identify_eve(_ctx: Ctx) -> Identity:
    return Identity(caller="eve")


async def run(client: Client, code: str, session: str) -> Any:
    return await client.call_tool("execute_code", {"code": code, "session": session})


@pytest.mark.parametrize("mode", MODES)
async def test_a_branch_has_the_variables_and_goes_its_own_way(state: Path, mode: Mode) -> None:
    async with open_door(state) as door, connected(door, mode) as client:
        first = await run(client, "rows = [1, 2]\nopen('kept.txt', 'w').write('x')", "new")
        trunk = first.structured_content["session"]
        forked = await run(client, "rows.append(3)\nrows", f"fork:{trunk}")
        branch = forked.structured_content["session"]
        again = await run(client, "rows.append(4)\nrows, open('kept.txt').read()", branch)
        there = await run(client, "rows", trunk)

    assert branch not in (trunk, None)
    assert f"session: {branch} (kept until" in text(forked)
    assert [result.structured_content["result"] for result in (forked, again, there)] == [[1, 2, 3], [[1, 2, 3, 4], "x"], [1, 2]]


async def test_what_cannot_be_branched_says_what_to_do(state: Path) -> None:
    async with open_door(state) as door, connected(door, "legacy") as client:
        opened = await client.call_tool("execute_code", {"code": "1", "session": "new"})
        assert opened.structured_content is not None
        handle = opened.structured_content["session"]
        runtime = await door.hall()
        await runtime.drop_session((await door.find_session(handle, Identity())).name)
        for session, words in ((f"fork:{handle}", "keeps no variables to branch"), ("fork:nothing", "no session of that handle")):
            answer = await run(client, "1", session)
            assert answer.is_error, session
            assert words in text(answer), session


async def test_nobody_branches_the_session_of_another(state: Path) -> None:
    async with open_door(state) as door, connected(door, "legacy") as client:
        trunk = (await run(client, "secret = 7", "new")).structured_content["session"]
    async with (
        open_door(state, identify_caller=identify_eve) as door,
        connected(door, "legacy") as client,
    ):
        answer = await run(client, "secret", f"fork:{trunk}")
    assert answer.is_error
    assert "no session of that handle" in text(answer)
