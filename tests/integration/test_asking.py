"""A server asks something in the middle of a call: whoever is behind the execution answers, or it is refused."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gristmill import Config, Runtime
from gristmill.config.sections.policy_section import PolicyConfig
from gristmill.config.tree import SandboxConfig, StoreConfig
from gristmill.errors import ConfigError
from gristmill.upstream.base import Ask, InputAnswer, InputRequest
from gristmill.upstream.execution_callers import refuse_questions
from tests.servers.warm import server_of

pytestmark = pytest.mark.anyio
PROGRAM = "from servers import new\nfrom mcp_client import ToolError\ntry:\n    r = new.greet()\nexcept ToolError as e:\n    r = [e.code, str(e)]\nr"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def opened(state: Path, ask: Ask | None) -> AsyncGenerator[Runtime]:
    server = server_of("modern.py")
    config = Config(
        servers={"new": server}, sandbox=SandboxConfig(warm=0), policy=PolicyConfig(allow=("*",)), store=StoreConfig(path=state)
    )
    async with Runtime.open(config, ask=ask) as runtime:
        await runtime.settled(30)
        yield runtime


def says(name: str, asked: list[InputRequest]) -> Ask:
    async def answer(request: InputRequest) -> InputAnswer:
        asked.append(request)
        return InputAnswer(action="accept", content={"name": name})

    return answer


async def test_the_one_behind_an_execution_is_asked(state: Path) -> None:
    asked: list[InputRequest] = []
    async with opened(state, refuse_questions) as runtime:
        outcome = await runtime.execute(PROGRAM, ask=says("Ann", asked))
        assert outcome.result == "hello Ann"
        assert [(request.server, request.message) for request in asked] == [("new", "who are you?")]
        # Another execution of the same runtime has nobody behind it.
        code, words = (await runtime.execute(PROGRAM)).result
        assert (code, "the caller of this execution cannot answer" in words) == ("refused.call", True)


async def test_whoever_opened_the_runtime_answers_for_all(state: Path) -> None:
    async with opened(state, says("Bob", [])) as runtime:
        assert (await runtime.execute(PROGRAM)).result == "hello Bob"


async def test_without_anybody_servers_are_told_so(state: Path) -> None:
    async with opened(state, None) as runtime:
        code, words = (await runtime.execute(PROGRAM)).result
        assert (code, "the caller cannot answer" in words or "not offered here" in words) == ("upstream", True)
        with pytest.raises(ConfigError, match="refuse_questions"):
            await runtime.execute("1", ask=says("Ann", []))
