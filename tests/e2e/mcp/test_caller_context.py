"""The context of a program comes from the application or the configuration, never from the model."""

from pathlib import Path

import pytest
from mcp import Client

from gristmill import Config, Runtime
from gristmill.config.sections.serve_section import ServeConfig
from gristmill.config.tree import SandboxConfig, StoreConfig
from gristmill.serve.mcp.get_runtime import wrap_runtime
from gristmill.serve.mcp.mcp_door import McpDoor
from gristmill.serve.mcp.mcp_server import build_server
from tests.e2e.mcp.conftest import MODES, Mode, connected, open_door, text

pytestmark = pytest.mark.anyio
READ = {"code": "dict(user=context.user_id, more=sorted(context))"}


@pytest.mark.parametrize("mode", MODES)
async def test_a_program_reads_what_the_application_sends_beside_the_arguments(state: Path, mode: Mode) -> None:
    async with open_door(state) as door, connected(door, mode) as client:
        found = await client.call_tool("execute_code", READ, meta={"gristmill/context": {"user_id": 7}})
        gone = await client.call_tool("execute_code", READ)

    assert found.structured_content is not None
    assert found.structured_content["result"] == {"user": 7, "more": ["user_id"]}
    assert "hint: `context` holds what the caller passed beside the program, and user_id is not among it" in text(gone)


async def test_a_run_in_the_background_has_the_context_too(state: Path) -> None:
    async with open_door(state) as door, connected(door, "legacy") as client:
        begun = await client.call_tool("execute_code", {**READ, "background": True}, meta={"gristmill/context": {"user_id": 8}})
        assert begun.structured_content is not None
        ended = await client.call_tool("execute_code", {"resume": begun.structured_content["id"]})

    assert ended.structured_content is not None
    assert ended.structured_content["result"]["user"] == 8


async def test_a_model_cannot_pass_a_context(state: Path) -> None:
    async with open_door(state) as door, connected(door, "legacy") as client:
        answer = await client.call_tool("execute_code", {**READ, "context": {"user_id": 1}})

    assert answer.is_error
    assert "hint: context is passed by the application, not as an argument" in text(answer)


@pytest.mark.parametrize("wrong", [["user_id"], "7", {str(number): 1 for number in range(1_001)}])
async def test_a_context_that_is_no_small_object_is_refused(state: Path, wrong: object) -> None:
    async with open_door(state) as door, connected(door, "legacy") as client:
        answer = await client.call_tool("execute_code", READ, meta={"gristmill/context": wrong})

    assert answer.is_error
    assert "must be an object" in text(answer)


async def test_what_is_configured_for_a_caller_wins_over_what_is_sent(state: Path) -> None:
    config = Config(
        sandbox=SandboxConfig(warm=0), store=StoreConfig(path=state / "bound"),
        serve=ServeConfig(contexts={"local": {"user_id": 7}, "ann": {"user_id": 9}}),
    )  # fmt: skip
    async with Runtime.open(config) as runtime:
        door = McpDoor(hall=wrap_runtime(runtime), instructions="")
        async with Client(build_server(door)) as client:
            sent = await client.call_tool("execute_code", READ, meta={"gristmill/context": {"user_id": 1, "domain": "x"}})
            bare = await client.call_tool("execute_code", READ)
        await door.close()
        ann = await runtime.execute(READ["code"], caller="ann", context={"user_id": 1})
        bob = await runtime.execute(READ["code"], caller="bob", context={"user_id": 1})
        failed = await runtime.execute("raise ValueError(context.user_id)", caller="ann")
        again = await runtime.execute(None, caller="ann", resume=failed.id)

    assert (sent.structured_content or {})["result"] == {"user": 7, "more": ["domain", "user_id"]}
    assert (bare.structured_content or {})["result"] == {"user": 7, "more": ["user_id"]}
    assert [outcome.result["user"] for outcome in (ann, bob)] == [9, 1]
    assert "ValueError: 9" in str(again.error)
