"""A tool server asks something in the middle of a call: the person behind the client answers, in the way of each era."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_types import ElicitRequestFormParams, ElicitResult

from gristmill.config.sections.policy_section import PolicyConfig
from gristmill.config.tree import Config, SandboxConfig, StoreConfig
from gristmill.serve.mcp.mcp_door import McpDoor
from gristmill.serve.mcp.open_in_background import open_in_background
from tests.e2e.mcp.conftest import MODES, Mode, connected, text
from tests.servers.warm import server_of

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", MODES)]

GREET = "from servers.new import greet\ngreet()"
THREE = "import asyncio\nfrom servers import new\nawait asyncio.gather(*(asyncio.to_thread(new.greet) for _ in range(3)))"


@asynccontextmanager
async def door(state: Path) -> AsyncGenerator[McpDoor]:
    """The door as ``gristmill serve`` opens it, with a server behind it that asks."""
    server = server_of("modern.py")
    config = Config(
        servers={"new": server}, sandbox=SandboxConfig(warm=1), policy=PolicyConfig(allow=("*",)), store=StoreConfig(path=state)
    )
    async with open_in_background(config) as hall:
        made = McpDoor(hall=hall, instructions="")
        try:
            with anyio.fail_after(60):
                yield made
        finally:
            await made.close()


class Person:
    """Answers every form with their name, and remembers what they were shown."""

    def __init__(self, action: Any = "accept") -> None:
        self.action, self.shown = action, list[str]()

    async def __call__(self, _context: Any, params: Any) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        assert "name" in params.requested_schema["properties"]
        self.shown.append(params.message)
        return ElicitResult(action=self.action, content={"name": "Ann"} if self.action == "accept" else None)


@pytest.mark.requirement("M5")
async def test_the_person_is_asked_and_told_which_server_wants_to_know(state: Path, mode: Mode) -> None:
    person = Person()
    async with door(state) as made, connected(made, mode, elicitation_callback=person) as client:
        answer: Any = await client.call_tool("execute_code", {"code": GREET})

    assert answer.structured_content["result"] == "hello Ann"
    assert person.shown == ["The server new asks for new.greet: who are you?"]


async def test_questions_of_parallel_calls_are_all_answered(state: Path, mode: Mode) -> None:
    person = Person()
    async with door(state) as made, connected(made, mode, elicitation_callback=person) as client:
        answer: Any = await client.call_tool("execute_code", {"code": THREE})

    assert answer.structured_content["result"] == ["hello Ann"] * 3
    assert len(person.shown) == 3


async def test_a_person_who_declines_fails_the_call(state: Path, mode: Mode) -> None:
    async with door(state) as made, connected(made, mode, elicitation_callback=Person("decline")) as client:
        answer: Any = await client.call_tool("execute_code", {"code": GREET})

    assert answer.is_error


async def test_a_client_that_cannot_ask_is_told_so(state: Path, mode: Mode) -> None:
    async with door(state) as made, connected(made, mode) as client:
        answer: Any = await client.call_tool("execute_code", {"code": GREET})

    assert "asks for input, and the caller of this execution cannot answer" in text(answer)
