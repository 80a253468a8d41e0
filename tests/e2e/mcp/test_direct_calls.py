"""Direct calls: a third tool where the configuration wants it, with the same rules and questions as calls from code."""

from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult

from tests.e2e.mcp.conftest import MODES, Mode, connected, open_door, text

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", MODES)]


async def test_there_is_no_third_tool_unless_it_is_wanted(state: Path, mode: Mode) -> None:
    async with open_door(state) as door, connected(door, mode) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["search_tools", "execute_code"]
        with pytest.raises(MCPError, match="Unknown tool"):
            await client.call_tool("call_tool", {"tool": "crm.get", "arguments": {"number": 5}})


async def test_a_tool_is_called_without_a_program(state: Path, mode: Mode) -> None:
    async with open_door(state, direct_calls=True) as door, connected(door, mode) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["search_tools", "execute_code", "call_tool"]
        answer = await client.call_tool("call_tool", {"tool": "crm.get", "arguments": {"number": 5}})

    assert text(answer) == 'ok\nresult: {"number":5}'


async def test_what_the_policy_denies_is_an_error(state: Path, mode: Mode) -> None:
    async with open_door(state, {"deny": ("crm.get",)}, direct_calls=True) as door, connected(door, mode) as client:
        answer: Any = await client.call_tool("call_tool", {"tool": "crm.get", "arguments": {"number": 5}})

    assert answer.is_error
    assert answer.structured_content["status"] == "refused"


@pytest.mark.parametrize(("said", "status"), [("all", "ok"), ("none", "refused")])
async def test_the_person_is_asked_before_a_call_that_needs_approval(state: Path, mode: Mode, said: str, status: str) -> None:
    async def person(_context: Any, params: Any) -> ElicitResult:
        assert "crm.get" in params.message
        return ElicitResult(action="accept", content={"approve": said})

    async with (
        open_door(state, {"ask": ("crm.get",)}, direct_calls=True) as door,
        connected(door, mode, elicitation_callback=person) as client,
    ):
        answer: Any = await client.call_tool("call_tool", {"tool": "crm.get", "arguments": {"number": 5}})

    assert answer.structured_content["status"] == status


async def test_what_does_not_fit_is_found_in_the_session_that_the_answer_names(state: Path, mode: Mode) -> None:
    async with open_door(state, direct_calls=True) as door, connected(door, mode) as client:
        answer: Any = await client.call_tool("call_tool", {"tool": "crm.rows", "arguments": {"count": 2_000}})
        fields = answer.structured_content
        path, session = fields["left_out"][0]["path"], fields["session"]
        code = f"import json\nlen(json.load(open({path!r})))"
        looked: Any = await client.call_tool("execute_code", {"code": code, "session": session})

    assert looked.structured_content["result"] == 2_000
